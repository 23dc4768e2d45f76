"""An entry whose rows the database refuses for good is a gap: it stops nobody, and costs no other entry."""

import threading
from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import send

from bandmaster.ledger import consumer as consumer_module
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

JOURNAL = "exec_queue:journal"
ADMIT: dict[str, str] = {"verb": "admit", "id": "before-0", "at": "1", "state": "RUNNING", "attempt": "1"}
REFUSED = [
    pytest.param(ADMIT | {"at": str(2**70)}, id="no such time"),
    pytest.param(ADMIT | {"attempt": "my secret"}, id="a text for a number"),
    pytest.param({"verb": "limit", "id": "", "at": "1", "name": "a"}, id="a field that is missing"),
]


def parked(reading: Reading) -> list[str]:
    found = reading.rows("SELECT execution_id FROM transitions WHERE verb = 'park' ORDER BY entry_ms, entry_number")
    return [row["execution_id"] for row in found]


@pytest.mark.parametrize("fields", REFUSED)
def test_what_stands_around_it_is_written_and_it_is_a_gap(
    fields: dict[Any, Any],
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    before, after = [f"before-{number}" for number in range(30)], [f"after-{number}" for number in range(45)]
    for name in before:
        send(queue, name)
    entry_id = redis_client.xadd(JOURNAL, fields)
    assert isinstance(entry_id, bytes)
    for name in after:
        send(queue, name)
    catch_up(consumer)
    assert parked(reading) == [*before, *after]
    assert reading.rows("SELECT entry_count, missed FROM gaps") == [{"entry_count": 30, "missed": 1}]
    assert entry_id.decode() in caplog.text
    assert "my secret" not in caplog.text
    assert reading.one("SELECT entry_count FROM consumer") == redis_client.xlen(JOURNAL)
    # What it may have told of is taken from Redis.
    assert reading.one("SELECT is_unsure FROM consumer") in (0, False)


def test_two_of_them_are_found_in_few_transactions_and_pages_grow_again(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for number in range(300):
        if number in (100, 101):
            redis_client.xadd(JOURNAL, {**ADMIT, "attempt": str(2**70)})
        send(queue, f"e{number}")
    tries = list[int]()
    write = Book.write

    def counted(book: Book, page: Any, fetched: Any, at_ms: int) -> None:
        tries.append(len(page.entries))
        write(book, page, fetched, at_ms)

    monkeypatch.setattr(Book, "write", counted)
    catch_up(consumer)
    assert len(parked(reading)) == 300
    assert reading.one("SELECT sum(missed) FROM gaps") == 2
    assert len(tries) < 50, tries
    for number in range(300, 900):
        send(queue, f"e{number}")
    catch_up(consumer)
    assert max(tries[-3:]) > 300, tries


def test_a_page_of_damaged_entries_alone_is_not_the_end_of_the_journal(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer_module, "ENTRIES_A_PAGE", 10)
    consumer._entries_a_page = 10  # pyright: ignore[reportPrivateUsage]
    for _ in range(25):
        redis_client.xadd(JOURNAL, {"foo": "bar"})
    send(queue, "after")
    assert catch_up(consumer) == 26
    assert parked(reading) == ["after"]
    # As after a restart with another name: what was read is looked for behind all that is damaged.
    redis_client.delete("exec_queue:incarnation")
    catch_up(consumer)
    catch_up(consumer)
    assert parked(reading) == ["after"], "it is not written twice"


def test_a_database_that_refuses_everything_is_asked_again_and_nothing_is_passed_over(
    queue: ExecutionQueueService, database: Database, reading: Reading, caplog: pytest.LogCaptureFixture
) -> None:
    send(queue, "a")
    reading.change("ALTER TABLE transitions RENAME TO taken_away")
    stop = threading.Event()
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"))
    thread = threading.Thread(target=consumer.run, args=(stop,))
    thread.start()
    try:
        wait_until(lambda: "consumer_waits" in caplog.text, what="the refusal")
        reading.change("ALTER TABLE taken_away RENAME TO transitions")
        wait_until(lambda: parked(reading) == ["a"], what="the entry")
    finally:
        stop.set()
        thread.join()
    assert reading.one("SELECT count(*) FROM gaps") == 0

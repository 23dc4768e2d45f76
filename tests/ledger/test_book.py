"""One process consumes; a page is written as a whole or not at all, and never twice."""

import json
import threading

import pytest
import redis
from databases import POSTGRESQLS
from ledger_reading import Reading, catch_up

from bandmaster.ledger import book as book_module
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import AnotherQueue, LedgerRefused, LedgerUnavailable, NotConsumer
from bandmaster.ledger.fetching import Fetched
from bandmaster.ledger.standing import is_written, standing
from bandmaster.scheduler.engine.journal_following import Page
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until


def send(queue: ExecutionQueueService, name: str) -> None:
    queue.enqueue(ExecutionRequestedEvent(execution_id=name, action="resize", command=("true",)))


def book_of(database: Database, *, holder: str, queue: str = "exec_queue", ttl_ms: int = 10_000) -> Book:
    return Book(database, queue=queue, holder=holder, ttl_ms=ttl_ms)


def test_another_process_consumes_only_when_the_lease_has_run_out(database: Database) -> None:
    first, second = (
        book_of(database, holder="first"),
        book_of(database, holder="second"),
    )
    assert first.take()
    assert not second.take()
    assert first.take(), "the same process may take it again, as after a lost reply"
    impatient = book_of(database, holder="third", ttl_ms=-1)
    assert impatient.take()
    with pytest.raises(NotConsumer):
        first.renew()
    impatient.renew()
    impatient.resign()
    assert second.take()


def test_a_lease_from_the_future_is_over(database: Database, reading: Reading) -> None:
    """The machine's clock was wrong when it was taken, and is right now: nobody renews it."""
    first, second = book_of(database, holder="first"), book_of(database, holder="second")
    assert first.take()
    reading.change("UPDATE consumer SET renewed_ms = renewed_ms + 3600000")
    assert not standing(database, "exec_queue").is_written
    with database.reading() as connection:
        assert not is_written(connection)
    assert second.take()
    assert standing(database, "exec_queue").is_written


@pytest.mark.parametrize("database_kind", POSTGRESQLS, indirect=True)
def test_a_process_that_freezes_in_a_transaction_holds_up_its_successor_no_longer_than_its_lease(
    database: Database,
) -> None:
    first = book_of(database, holder="first", ttl_ms=1_000)
    second = book_of(database, holder="second", ttl_ms=1_000)
    assert first.take()
    with pytest.raises(LedgerUnavailable), first.writing():
        # As if the first stood still here.
        assert wait_until(second.take, what="the next one to take over")
    with pytest.raises(NotConsumer):
        first.renew()


def test_a_consumer_that_slept_past_its_lease_writes_nothing(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading
) -> None:
    send(queue, "a")
    catch_up(consumer)
    other = Consumer(queue, book_of(database, holder="another", ttl_ms=-1))
    assert other.begin()
    send(queue, "b")
    catch_up(other)
    send(queue, "c")
    with pytest.raises(NotConsumer):
        consumer.step()
    assert reading.one("SELECT count(*) FROM transitions") == 2
    catch_up(other)
    assert reading.one("SELECT count(*) FROM transitions") == 3
    assert reading.one("SELECT total_enqueued FROM queue_stats") == 3


def test_a_page_whose_writing_fails_is_written_later_as_a_whole(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    catch_up(consumer)
    send(queue, "a")
    write = book_module.write

    def fail(*_: object) -> None:
        write(*_)  # type: ignore[arg-type]
        raise LedgerUnavailable("the disk is full", url="sqlite://")

    with monkeypatch.context() as patch:
        patch.setattr(book_module, "write", fail)
        with pytest.raises(LedgerUnavailable):
            consumer.step()
    assert reading.one("SELECT count(*) FROM transitions") == 0
    assert reading.one("SELECT count(*) FROM executions") == 0
    assert consumer.begin()
    assert catch_up(consumer) == 1
    assert reading.one("SELECT total_enqueued FROM queue_stats") == 1


def test_a_commit_whose_reply_is_lost_is_not_written_again(
    queue: ExecutionQueueService, database: Database, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop, lost = threading.Event(), threading.Event()
    write = Book.write

    def lose_one_reply(book: Book, page: Page, fetched: Fetched, at_ms: int) -> None:
        write(book, page, fetched, at_ms)
        if not lost.is_set():
            lost.set()
            raise LedgerUnavailable("server closed the connection unexpectedly", url="postgresql://")

    monkeypatch.setattr(Book, "write", lose_one_reply)
    send(queue, "a")
    thread = threading.Thread(target=Consumer(queue, book_of(database, holder="unlucky")).run, args=(stop,))
    thread.start()
    try:
        assert lost.wait(GENEROUS_SECONDS)
        send(queue, "b")
        wait_until(lambda: reading.one("SELECT count(*) FROM transitions") == 2, what="the second entry")
    finally:
        stop.set()
        thread.join()
    assert reading.one("SELECT total_enqueued FROM queue_stats") == 2


def test_a_ledger_is_that_of_one_queue(database: Database) -> None:
    assert book_of(database, holder="first", ttl_ms=-1).take()
    with pytest.raises(AnotherQueue, match="prefix 'exec_queue', not 'staging:exec_queue': give each queue a database"):
        book_of(database, queue="staging:exec_queue", holder="second", ttl_ms=-1).take()


def test_a_text_that_postgresql_does_not_take_is_stored_without_what_it_refuses(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    catch_up(consumer)
    entry = {"verb": "release", "id": "a", "at": "1", "attempt": "1", "state": "FAILED"}
    redis_client.xadd("exec_queue:journal", {**entry, "reason": b"core\0dump \xff"})
    catch_up(consumer)
    assert reading.one("SELECT reason FROM executions") == "core\ufffddump \ufffd"


def test_what_the_database_will_never_do_is_told_as_such(database: Database, reading: Reading) -> None:
    reading.change("DROP TABLE consumer")
    with pytest.raises(LedgerRefused if not database.is_sqlite else LedgerUnavailable, match="consumer"):
        book_of(database, holder="first").take()


def test_it_runs_until_it_is_told_to_stop_and_lets_the_next_one_begin(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    stop = threading.Event()
    running = Consumer(queue, book_of(database, holder="running"))
    thread = threading.Thread(target=running.run, args=(stop,))
    thread.start()
    try:
        send(queue, "a")
        wait_until(lambda: reading.one("SELECT count(*) FROM transitions") == 1, what="the first entry")
        send(queue, "b")
        wait_until(lambda: reading.one("SELECT count(*) FROM transitions") == 2, what="the second entry")
    finally:
        stop.set()
        thread.join()
    assert book_of(database, holder="next").take()


def test_refusals_are_kept_one_by_one_and_in_numbers(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, "a")
    again = [Candidate("a", "executions", 2, "resize", message=b"hello")] * 50
    assert all(isinstance(each, DuplicateExecution) for each in queue.transitions.park_many(again))

    def numbers() -> int:
        queue.maintenance.sweep()
        catch_up(consumer)
        return reading.one("SELECT count(*) FROM transitions WHERE verb = 'reject' AND execution_id = ''")

    wait_until(lambda: numbers() == 1, what="the number of the others")
    assert reading.one("SELECT count(*) FROM transitions WHERE verb = 'reject'") == 11
    told = reading.one("SELECT details FROM transitions WHERE verb = 'reject' AND execution_id = ''")
    assert json.loads(told) == {"count": "40"}
    assert reading.rows("SELECT execution_id, state FROM executions") == [{"execution_id": "a", "state": "PENDING"}]

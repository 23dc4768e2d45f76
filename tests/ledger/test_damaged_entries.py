"""An entry of the journal that nobody can read is a gap, like one that was dropped: it is told, and nothing stops."""

from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

JOURNAL = "exec_queue:journal"
DAMAGED: list[dict[Any, Any]] = [
    {"foo": "bar"},
    {"verb": "admit", "id": "x"},
    {"verb": "admit", "id": "x", "at": "soon"},
    {"verb": b"\xff\xfe", "at": "1"},
]


def send(queue: ExecutionQueueService, name: str) -> None:
    queue.enqueue(ExecutionRequestedEvent(execution_id=name, command=("true",)))


def parked(reading: Reading) -> list[str]:
    found = reading.rows("SELECT execution_id FROM transitions WHERE verb = 'park' ORDER BY entry_ms, entry_number")
    return [row["execution_id"] for row in found]


@pytest.mark.parametrize("fields", DAMAGED)
def test_what_stands_around_it_is_written_and_it_is_a_gap(
    fields: dict[Any, Any],
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    send(queue, "before")
    redis_client.xadd(JOURNAL, fields)
    send(queue, "after")
    catch_up(consumer)
    assert parked(reading) == ["before", "after"]
    assert [(row["entry_count"], row["missed"]) for row in reading.rows("SELECT * FROM gaps")] == [(0, 1)]
    assert "journal_gap" in caplog.text
    # What it may have told of is taken from Redis.
    assert reading.one("SELECT is_unsure FROM consumer") in (0, False)


def test_one_that_is_the_last_is_not_read_again_and_again(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "before")
    catch_up(consumer)
    for _ in range(3):
        redis_client.xadd(JOURNAL, {"foo": "bar"})
    catch_up(consumer)
    assert reading.one("SELECT entry_count FROM consumer") == 4
    assert reading.one("SELECT sum(missed) FROM gaps") == 3
    next_one = Consumer(queue, Book(database, queue="exec_queue", holder="the next", ttl_ms=-1))
    assert next_one.begin()
    send(queue, "after")
    catch_up(next_one)
    assert reading.one("SELECT count(*) FROM transitions") == 2
    assert reading.one("SELECT sum(missed) FROM gaps") == 3


def test_with_a_restored_journal_what_was_written_is_not_written_twice(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    redis_client.xadd(JOURNAL, {"foo": "bar"})
    send(queue, "b")
    catch_up(consumer)
    # As after a restart with the same data and another name: all of it is known.
    redis_client.delete("exec_queue:incarnation")
    send(queue, "c")
    assert consumer.step() == 0, "it finds out that it is another one, and where what is new begins"
    catch_up(consumer)
    assert parked(reading) == ["a", "b", "c"]

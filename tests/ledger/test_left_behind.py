"""Retention finds what stayed behind it, goes in pages whatever it deletes, and passes over no new work."""

from itertools import pairwise
from typing import Any

import pytest
import redis
from keeping import DAY_MS, Later, counts, end, send
from ledger_reading import Reading, catch_up

from bandmaster.ledger import retention
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.retention import Kept, Retention
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.fixture
def book(database: Database) -> Book:
    return Book(database, queue="exec_queue", holder="this test")


def test_a_payload_that_was_kept_when_its_turn_came_goes_later(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: Any
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_PAGE", 3)
    for number in range(8):
        send(queue, f"e{number}")
        assert queue.try_schedule() is not None
        died = Release(f"e{number}", 1, State.FAILED, reason="crashed", result=b"{}", dead=number == 2)
        queue.transitions.settle(died)
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    now_ms = queue.views.server_time_ms() + 2 * DAY_MS
    keeper = Retention(book, Kept(payloads_ms=DAY_MS), Later())

    def until_nothing_is_old() -> None:
        for _ in range(30):
            keeper.step(now_ms)

    until_nothing_is_old()
    assert [row["execution_id"] for row in reading.rows("SELECT execution_id FROM payloads")] == ["e2"]
    assert queue.drop("e2")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    until_nothing_is_old()
    assert counts(reading)["payloads"] == counts(reading)["results"] == 0


def test_old_changes_and_gaps_are_deleted_in_pages(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: Any
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_PAGE", 3)
    for number in range(20):
        queue.controls.set_limit("tenant:1", number)
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    keeper = Retention(book, Kept(audit_ms=DAY_MS), Later())
    left = [reading.one("SELECT count(*) FROM changes")]
    while len(left) < 30:
        keeper.step(queue.views.server_time_ms() + 2 * DAY_MS)
        left.append(reading.one("SELECT count(*) FROM changes"))
    assert left[0] == 20
    assert left[-1] == 1, "the last one stays"
    assert max(before - after for before, after in pairwise(left)) == 3


def test_what_a_new_journal_tells_is_new_though_its_clock_went_back(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "old")
    end(queue, "old")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    # Redis's clock was ahead when what had ended last was deleted.
    reading.change(f"UPDATE consumer SET forgotten_ms = {queue.views.server_time_ms() + DAY_MS}")
    redis_client.flushdb()
    for name in ("a", "b"):
        send(queue, name)
        end(queue, name)
    assert consumer.begin()
    for _ in range(3):
        catch_up(consumer)
    ended = "SELECT execution_id FROM executions WHERE state = 'COMPLETED' ORDER BY execution_id"
    assert [row["execution_id"] for row in reading.rows(ended)] == ["a", "b", "old"]

"""What is old is deleted from the ledger, page by page, and nothing else; what lives stays whatever its age."""

import random
from typing import Any

import pytest
import redis
from keeping import DAY_MS, Later, counts, end, forget, send
from ledger_reading import Reading, catch_up
from random_operators import Operators, seeds

from bandmaster.configs.ledger import LedgerSettings
from bandmaster.ledger import retention
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable, NotConsumer
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.ledger.retention import Kept, Retention
from bandmaster.scheduler.model.states import TERMINAL
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.fixture
def book(database: Database) -> Book:
    book = Book(database, queue="exec_queue", holder="this test")
    assert book.take()
    return book


@pytest.mark.parametrize("seed", seeds(4))
def test_what_stays_is_what_a_plain_filter_says(
    seed: int, queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: Any
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_PAGE", 7)
    operators = Operators(queue, 200 + seed)
    for _ in range(250):
        operators.act()
    assert consumer.begin()
    catch_up(consumer)
    chances = random.Random(seed)
    rows = reading.rows("SELECT * FROM executions")
    for row in rows:  # they ended at some time within the last hundred days
        if row["state"] in TERMINAL:
            ended_ms = row["ended_ms"] - chances.randrange(100) * DAY_MS
            reading.change(f"UPDATE executions SET ended_ms = {ended_ms} WHERE execution_id = '{row['execution_id']}'")
    rows = reading.rows("SELECT * FROM executions")
    now_ms = queue.views.server_time_ms()
    stays = {
        row["execution_id"]
        for row in rows
        if row["state"] not in TERMINAL or row["dead"] or row["ended_ms"] >= now_ms - 30 * DAY_MS
    }
    figures = reading.rows("SELECT * FROM queue_stats ORDER BY action_id")
    assert book.take()
    assert forget(book, Kept(ms=30 * DAY_MS), now_ms) == len(rows) - len(stays) > 0
    for table in ("executions", "transitions WHERE changed_by IS NULL", "holds", "payloads"):
        left = {row["execution_id"] for row in reading.rows(f"SELECT DISTINCT execution_id FROM {table}")}
        assert left <= stays, table
    assert {row["execution_id"] for row in reading.rows("SELECT execution_id FROM executions")} == stays
    assert reading.rows("SELECT * FROM queue_stats ORDER BY action_id") == figures


def test_the_number_of_executions_is_bounded(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading
) -> None:
    for number in range(20):
        send(queue, f"e{number:02}")
        if number < 15:
            end(queue, f"e{number:02}")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    assert forget(book, Kept(executions=5), 0) == 10
    left = {row["execution_id"] for row in reading.rows("SELECT execution_id FROM executions")}
    assert left == {f"e{number:02}" for number in range(10, 20)}


def test_payloads_go_before_their_executions(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: Any
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_PAGE", 3)
    for number in range(10):
        send(queue, f"e{number}")
    assert consumer.begin()
    catch_up(consumer)
    for number in range(8):
        end(queue, f"e{number}")
    catch_up(consumer)
    assert counts(reading)["payloads"] == 10
    assert book.take()
    forget(book, Kept(ms=90 * DAY_MS, payloads_ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS)
    assert counts(reading) | {"transitions": 0, "holds": 0} == {
        "executions": 10,
        "transitions": 0,
        "holds": 0,
        "payloads": 2,
        "results": 0,
    }


def test_a_restored_server_tells_again_of_what_was_deleted_and_is_not_believed(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "old")
    end(queue, "old")
    send(queue, "lives")
    kept = {key: redis_client.dump(key) for key in redis_client.keys("exec_queue:*")}
    assert consumer.begin()
    catch_up(consumer)
    send(queue, "since")
    catch_up(consumer)
    enqueued = reading.one("SELECT total_enqueued FROM queue_stats")
    assert book.take()
    assert forget(book, Kept(ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS) == 1
    redis_client.flushdb()
    for key, value in kept.items():
        assert value is not None
        redis_client.restore(key, 0, value)
    assert consumer.begin()
    for _ in range(3):
        catch_up(consumer)
    assert {row["execution_id"] for row in reading.rows("SELECT execution_id FROM executions")} == {"lives", "since"}
    assert reading.one("SELECT total_enqueued FROM queue_stats") == enqueued


def test_operators_last_changes_stay_so_that_redis_can_be_rebuilt(
    queue: ExecutionQueueService,
    consumer: Consumer,
    book: Book,
    database: Database,
    reading: Reading,
    redis_client: Any,
) -> None:
    for limit in (1, 2, 3):
        queue.controls.set_limit("tenant:acme", limit)
        queue.controls.pause("tenant:acme")
        queue.controls.resume("tenant:acme")
    queue.controls.pause("tenant:acme")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    forget(book, Kept(audit_ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS)
    assert reading.one("SELECT count(*) FROM changes") == 2
    redis_client.flushdb()
    rebuild(queue, database)
    assert queue.controls.limits() == {"tenant:acme": 3}
    assert list(queue.controls.paused()) == ["tenant:acme"]


def test_who_changed_an_execution_is_kept_longer_than_the_execution(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading
) -> None:
    for name in ("gone", "lives"):
        send(queue, name)
        queue.update_priority(name, "HIGH", by="ada")
    queue.cancel("gone", by="ada")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    now_ms = queue.views.server_time_ms()
    forget(book, Kept(ms=DAY_MS, audit_ms=9 * DAY_MS), now_ms + 2 * DAY_MS)
    told = "SELECT verb FROM transitions WHERE execution_id = 'gone' ORDER BY entry_ms, entry_number"
    assert reading.one("SELECT count(*) FROM executions") == 1
    assert [row["verb"] for row in reading.rows(told)] == ["reprioritise", "cancel"]
    forget(book, Kept(ms=DAY_MS, audit_ms=9 * DAY_MS), now_ms + 10 * DAY_MS)
    assert reading.rows(told) == []
    assert reading.one("SELECT count(*) FROM transitions") == 2, "of what lives, all stays"


def test_figures_of_unused_actions_are_deleted(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading
) -> None:
    send(queue, "a", action="unused")
    end(queue, "a")
    send(queue, "b", action="used")
    assert consumer.begin()
    catch_up(consumer)
    assert book.take()
    forget(book, Kept(ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS)
    assert [row["ref"] for row in reading.rows("SELECT ref FROM action JOIN queue_stats ON id = action_id")] == ["used"]


def test_lost_executions_are_deleted_by_when_they_were_found_lost(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    assert consumer.begin()
    catch_up(consumer)
    redis_client.flushdb()
    for _ in range(3):
        catch_up(consumer)
    assert reading.one("SELECT lost_ms FROM executions") is not None
    assert book.take()
    now_ms = queue.views.server_time_ms()
    assert forget(book, Kept(ms=DAY_MS), now_ms) == 0
    assert forget(book, Kept(ms=DAY_MS), now_ms + 2 * DAY_MS) == 1


def test_only_the_consumer_deletes(queue: ExecutionQueueService, book: Book, database: Database) -> None:
    other = Book(database, queue="exec_queue", holder="another", ttl_ms=0)
    reading = Reading(database)
    reading.change("UPDATE consumer SET renewed_ms = 0")
    assert other.take()
    with pytest.raises(NotConsumer):
        Retention(book, Kept(ms=1), Later()).step(queue.views.server_time_ms())


def test_a_page_is_deleted_as_a_whole_or_not_at_all(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(queue, "a")
    end(queue, "a")
    assert consumer.begin()
    catch_up(consumer)
    before = counts(reading)
    assert book.take()
    delete_executions: Any = retention._delete_executions  # pyright: ignore[reportPrivateUsage]

    def fail(*arguments: Any) -> int:
        delete_executions(*arguments)
        raise LedgerUnavailable("the disk is full", url="sqlite://")

    with monkeypatch.context() as patch:
        patch.setattr(retention, "_delete_executions", fail)
        with pytest.raises(LedgerUnavailable):
            forget(book, Kept(ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS)
    assert counts(reading) == before
    assert forget(book, Kept(ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS) == 1
    assert set(counts(reading).values()) == {0}


def test_the_consumer_deletes_between_its_pages(
    queue: ExecutionQueueService, database: Database, reading: Reading
) -> None:
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"), kept=Kept(executions=1))
    assert consumer.begin()
    for number in range(3):
        send(queue, f"e{number}")
        end(queue, f"e{number}")
    assert consumer.step() > 0
    assert reading.one("SELECT count(*) FROM executions") == 1


def test_the_settings_say_how_much_is_kept() -> None:
    assert Kept.by(LedgerSettings()) == Kept(90 * DAY_MS, 30 * DAY_MS, 365 * DAY_MS)
    assert Kept.by(LedgerSettings(keep_days=0, keep_payloads_days=0, keep_audit_days=0)) == Kept()
    assert Kept.by(LedgerSettings(keep_days=1, keep_executions=7)).executions == 7

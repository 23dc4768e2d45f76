"""Entries whose values cannot stand, or that nobody can use any more, are left out, and stop nobody."""

from typing import Any

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import restore_snapshot, send, snapshot

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.rebuild.rebuilding import rebuild
from bandmaster.scheduler.queue import ExecutionQueueService

JOURNAL = "exec_queue:journal"
CHANGE = {"id": "", "at": "1", "from": "", "by": "ann@host"}


@pytest.mark.parametrize(
    "entry",
    [
        CHANGE | {"verb": "limit", "name": "action:pod", "to": "many"},
        {"verb": "hand_over", "id": "first", "at": str(2**62), "state": "POD", "attempt": "1", "pod": "x"},
    ],
    ids=["a limit", "a time"],
)
def test_it_becomes_a_gap_and_its_neighbours_are_written(
    entry: dict[str, str],
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
) -> None:
    send(queue, "first")
    redis_client.xadd(JOURNAL, entry)  # pyright: ignore[reportArgumentType]
    send(queue, "second")
    catch_up(consumer)
    assert [row["missed"] for row in reading.rows("SELECT missed FROM gaps")] == [1]
    assert {row["state"] for row in reading.rows("SELECT state FROM executions")} == {"PENDING"}


def test_a_large_limit_is_kept_and_shown_as_far_as_the_column_goes(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading
) -> None:
    send(queue, "first")
    queue.controls.set_limit("action:pod", 3_000_000_000)
    catch_up(consumer)
    assert reading.one("SELECT max_concurrent FROM queue_stats") == 2**31 - 1
    assert reading.one("SELECT value_after FROM changes") == "3000000000"


def test_a_refused_entry_does_not_make_a_replaced_journal_be_read_twice(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    for name in "ab":
        send(queue, name)
    redis_client.xadd(JOURNAL, {"verb": "admit", "id": "a", "at": "1", "state": "RUNNING", "attempt": "none"})
    for name in "cd":
        send(queue, name)
    catch_up(consumer)
    # A replica that lacks the last entry takes over.
    entries: Any = redis_client.xrange(JOURNAL)
    redis_client.delete(JOURNAL)
    for entry_id, fields in entries[:-1]:
        redis_client.xadd(JOURNAL, fields, id=entry_id)
    catch_up(consumer)
    catch_up(consumer)
    assert reading.one("SELECT total_enqueued FROM queue_stats") == 4
    assert {row["n"] for row in reading.rows("SELECT count(*) AS n FROM transitions GROUP BY execution_id")} == {1}


def test_a_setting_of_another_release_is_told_and_the_rest_is_set_again(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    queue.controls.change_setting("max_queue_size", 77)
    redis_client.xadd(JOURNAL, CHANGE | {"verb": "set", "name": "of_yesterday", "to": "5000"})  # pyright: ignore[reportArgumentType]
    catch_up(consumer)
    redis_client.flushdb()
    done = rebuild(queue, database)
    assert list(done.not_set) == ["set of_yesterday"]
    assert done.restored == {"PENDING": 1}
    assert queue.views.status().settings["max_queue_size"] == 77


@pytest.mark.parametrize("is_paused", [True, False], ids=["paused", "resumed"])
def test_the_later_word_on_a_pause_counts_whoever_has_it(
    is_paused: bool, queue: ExecutionQueueService, consumer: Consumer, database: Database, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    queue.controls.pause("*", by="ann@host")
    if is_paused:
        queue.controls.resume("*", by="ann@host")
    before = snapshot(redis_client)
    if is_paused:
        queue.controls.pause("*", by="ann@host")
    else:
        queue.controls.resume("*", by="ann@host")
    catch_up(consumer)
    restore_snapshot(redis_client, before)
    assert rebuild(queue, database, merge=True).stays_paused is is_paused

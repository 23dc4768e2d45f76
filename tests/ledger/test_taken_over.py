"""Rows that are taken over from Redis, because entries of the journal are missing, tell all that Redis knows."""

import pytest
import redis
from ledger_reading import Reading, catch_up
from redis_work import send

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.executions import Execution
from bandmaster.ledger.reconciling import Living
from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

JOURNAL = "exec_queue:journal"


def read_from_redis(consumer: Consumer, redis_client: redis.Redis) -> None:
    """Let entries be dropped unread, so that all that lives is compared."""
    redis_client.xadd(JOURNAL, {"foo": "bar"})
    redis_client.xtrim(JOURNAL, maxlen=0, approximate=False)
    catch_up(consumer)
    catch_up(consumer)


def row_of(reading: Reading, name: str) -> dict[str, object]:
    (row,) = reading.rows("SELECT * FROM executions WHERE execution_id = :name", name=name)
    return row


def test_when_an_attempt_was_granted_and_began_is_known(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "in-pod")
    send(queue, "again")
    catch_up(consumer)
    queue.transitions.admit(("executions",), 2)
    queue.transitions.hand_over("in-pod", 1, "its-pod", "its-uid")
    queue.retry("again", 1)
    read_from_redis(consumer, redis_client)
    meta, row = queue.views.meta("in-pod"), row_of(reading, "in-pod")
    assert (row["state"], row["attempt"], row["pod"]) == ("POD", 1, "its-pod")
    assert (row["granted_ms"], row["started_ms"]) == (int(meta["granted_at"]), int(meta["handed_over_at"]))
    meta, row = queue.views.meta("again"), row_of(reading, "again")
    assert (row["state"], row["attempt"], row["started_ms"]) == ("PENDING", 1, None)
    assert (row["granted_ms"], row["waiting_ms"]) == (int(meta["granted_at"]), int(meta["waiting_since"]))


def test_where_it_waits_is_known_and_whose_an_id_is_now(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "moved", priority="LOW")
    send(queue, "again", action="one", metadata={"user_id": "ann"})
    catch_up(consumer)
    queue.update_priority("moved", "CRITICAL")
    queue.cancel("again")
    redis_client.delete("exec_queue:meta:again", "exec_queue:ended:again")
    send(queue, "again", action="two", metadata={"user_id": "bob"})
    read_from_redis(consumer, redis_client)
    moved, again = row_of(reading, "moved"), row_of(reading, "again")
    assert (moved["band"], moved["score"]) == (0, float(queue.views.meta("moved")["score"]))
    assert (again["user_id"], again["action"], again["state"]) == ("bob", "two", "PENDING")


def test_an_end_that_nobody_read_has_its_attempt_and_the_times_of_that(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "a")
    catch_up(consumer)
    queue.transitions.admit(("executions",), 1)
    granted_ms = int(queue.views.meta("a")["granted_at"])
    queue.release("a", attempt=1, state=State.FAILED)
    read_from_redis(consumer, redis_client)
    row = row_of(reading, "a")
    assert (row["state"], row["attempt"], row["granted_ms"]) == ("FAILED", 1, granted_ms)
    assert row["ended_ms"] == int(queue.views.meta("a")["ended_at"])


def test_dead_letters_are_known_and_one_that_was_dropped_unseen_is_none(
    queue: ExecutionQueueService, consumer: Consumer, reading: Reading, redis_client: redis.Redis
) -> None:
    send(queue, "read-before")
    queue.transitions.admit(("executions",), 1)
    queue.transitions.release("read-before", 1, State.FAILED, dead=True)
    catch_up(consumer)
    assert row_of(reading, "read-before")["dead"]
    send(queue, "unseen")
    queue.transitions.admit(("executions",), 1)
    queue.transitions.release("unseen", 1, State.FAILED, dead=True)
    queue.drop("read-before")
    read_from_redis(consumer, redis_client)
    assert row_of(reading, "unseen")["state"] == "FAILED"
    assert row_of(reading, "unseen")["dead"]
    assert not row_of(reading, "read-before")["dead"]
    # An emptied server has dropped nothing: the dead letter can be restored.
    redis_client.flushdb()
    catch_up(consumer)
    catch_up(consumer)
    row = row_of(reading, "unseen")
    assert row["dead"]
    assert row["lost_ms"] is None


def test_a_record_that_the_database_does_not_take_is_cleaned_or_passed_over(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    for name in ("nul", "huge", "later-release", *(f"e{number}" for number in range(20))):
        send(queue, name)
    redis_client.hset("exec_queue:meta:nul", "action", "re\0size")
    redis_client.hset("exec_queue:meta:huge", "accepted_at", str(2**70))
    redis_client.hset("exec_queue:meta:later-release", "state", "FROZEN")
    read_from_redis(consumer, redis_client)
    assert row_of(reading, "nul")["action"] == "re\ufffdsize"
    assert reading.one("SELECT count(*) FROM executions WHERE state = 'PENDING'") == 21
    refused = [record.getMessage() for record in caplog.records if "record_refused" in record.getMessage()]
    assert len(refused) == 2, refused
    assert not reading.one("SELECT is_unsure FROM consumer")


def test_the_database_can_be_written_while_redis_is_read(
    queue: ExecutionQueueService,
    consumer: Consumer,
    reading: Reading,
    redis_client: redis.Redis,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    metas, asked = Living.metas, list[int]()

    def slow(living: Living, execution_ids: list[str]) -> dict[str, dict[str, str]]:
        asked.append(len(execution_ids))
        reading.change("UPDATE consumer SET forgotten_ms = forgotten_ms")  # it waits for a lock that somebody holds
        return metas(living, execution_ids)

    for number in range(3):
        send(queue, f"e{number}")
    monkeypatch.setattr(Living, "metas", slow)
    read_from_redis(consumer, redis_client)
    assert asked
    assert reading.one("SELECT count(*) FROM executions") == 3


def test_a_verb_of_a_later_release_does_not_begin_to_wait() -> None:
    waits = Execution("a", lane="executions", action="mail", state="PENDING", waiting_ms=1)
    assert waits.apply(JournalEntry("2-0", "thaw", "a", 2, {"state": "PENDING"}))
    assert waits.waiting_ms == 1

"""Dead letters whose time is over go, whoever calls, and the journal tells of each: the ledger has it until then."""

from collections.abc import Callable

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.journal import JournalEntry
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

KEPT_MS = 604_800_000
Round = Callable[[ExecutionQueueService], object]
ROUNDS: dict[str, Round] = {
    "of a scheduler": lambda queue: queue.maintenance.sweep(),
    "of a worker": lambda queue: queue.try_schedule(),
}


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """On an empty database."""
    return TurnedQueue(redis_client)


def bury(queue: ExecutionQueueService, *names: str) -> None:
    for name in names:
        queue.enqueue(event(name))
        queue.try_schedule()
        queue.transitions.release(name, 1, State.FAILED, dead=True)


def lose_record(client: redis.Redis, name: str) -> None:
    """Its time is over, by the server's own clock."""
    client.delete(f"exec_queue:meta:{name}", f"exec_queue:event:{name}")


def dropped(queue: ExecutionQueueService) -> list[JournalEntry]:
    return [entry for entry in queue.journal.entries() if entry.verb == "drop"]


@pytest.mark.parametrize("round_of", ROUNDS)
@pytest.mark.parametrize("has_record", [False, True], ids=["record gone", "record there"])
def test_a_letter_whose_time_is_over_goes_and_the_journal_says_so(
    round_of: str, has_record: bool, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    died_ms = queue.clock.now_ms
    bury(queue, "x")
    queue.clock.turn(KEPT_MS - 1)
    ROUNDS[round_of](queue)
    assert queue.views.dead() == ["x"]
    if not has_record:
        lose_record(redis_client, "x")
    queue.clock.turn(1_000)
    ROUNDS[round_of](queue)
    assert queue.views.dead() == []
    (entry,) = dropped(queue)
    assert (entry.execution_id, entry.fields["reason"]) == ("x", "dead_message_ttl")
    assert int(entry.fields["dead_at"]) == died_ms
    assert entry.fields["lane"] == ("executions" if has_record else "")
    assert not redis_client.exists("exec_queue:event:x")


def test_a_sweep_drops_all_of_them_a_few_a_call(queue: TurnedQueue) -> None:
    bury(queue, *(f"letter-{number}" for number in range(25)))
    queue.clock.turn(KEPT_MS)
    queue.try_schedule()
    assert len(queue.views.dead()) == 15
    queue.maintenance.sweep()
    assert queue.views.dead() == []
    assert len(dropped(queue)) == 25


def test_another_letter_drops_none_in_silence(queue: TurnedQueue) -> None:
    queue.transitions.bury(Candidate("old", "mail", 2, "send", message=b"m"), "full")
    queue.clock.turn(KEPT_MS)
    queue.transitions.bury(Candidate("new", "mail", 2, "send", message=b"m"), "full")
    assert "old" in queue.views.dead(), "its time is over, and no round has come"
    queue.maintenance.sweep()
    assert queue.views.dead() == ["new"]
    assert [entry.execution_id for entry in dropped(queue)] == ["old"]


def test_an_end_that_is_to_be_told_outlives_the_letter(queue: TurnedQueue) -> None:
    queue.controls.change_setting("dead_message_ttl_seconds", 60)
    queue.transitions.bury(Candidate("x", "mail", 2, "send", message=b"m"), "full")
    queue.clock.turn(60_000)  # the clock of leases, by which an outbox goes, stands still in a gap
    queue.maintenance.sweep()
    assert queue.views.dead() == []
    (untold,) = queue.outbox.collect("mail", 10, taken_ms=0)
    assert (untold.execution_id, untold.message) == ("x", b"m")


def test_one_that_an_operator_drops_when_its_record_is_gone_is_told_of(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    bury(queue, "x")
    lose_record(redis_client, "x")
    assert queue.drop("x", by="ann")
    (entry,) = dropped(queue)
    assert (entry.execution_id, entry.fields["by"]) == ("x", "ann")
    assert int(entry.fields["dead_at"]) == queue.clock.now_ms


def test_a_later_execution_with_its_id_is_left_alone(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    bury(queue, "x")
    lose_record(redis_client, "x")
    queue.clock.turn(KEPT_MS)
    queue.enqueue(event("x"))
    queue.maintenance.sweep()
    assert queue.views.dead() == []
    assert dropped(queue) == [], "it would be taken for one of the execution that lives"
    assert queue.views.meta("x")["state"] == State.PENDING

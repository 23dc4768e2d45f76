"""The journal as lifecycle events: what a queue did, told by the models that the actors use."""

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.engine.journal_events import event_of
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.events import (
    EVENT_TYPES,
    ExecutionAcceptedEvent,
    ExecutionRequestedEvent,
    LifecycleEvent,
)
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import QueueRejected
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On an empty server, where what waits may do so for a moment only."""
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("stale_timeout_seconds", 1)
    return queue


def told(queue: ExecutionQueueService) -> list[LifecycleEvent]:
    """All events, in order."""
    return [found for found in map(event_of, queue.journal.entries()) if found is not None]


def test_every_event_but_the_request_is_told_by_a_transition(queue: ExecutionQueueService) -> None:
    for state in (State.COMPLETED, State.FAILED, State.TIMEOUT):
        queue.enqueue(event(state.value))
        assert queue.try_schedule() is not None
        queue.release(state.value, 1, state)
    queue.enqueue(event("in-pod"))
    [grant] = queue.transitions.admit((DEFAULT_LANE,), 1).grants
    queue.transitions.hand_over("in-pod", 1, "a-pod", "uid", holder=grant.nonce)
    queue.enqueue(event("cancelled"))
    queue.cancel("cancelled")
    queue.enqueue(event("late"))
    wait_until(lambda: queue.maintenance.sweep() == 1, what="it has waited too long")
    queue.controls.change_setting("max_queue_size", 1)
    queue.enqueue(event("last"))
    with pytest.raises(QueueRejected):
        queue.enqueue(event("refused"))
    assert {type(found) for found in told(queue)} == set(EVENT_TYPES.values()) - {ExecutionRequestedEvent}


def test_an_acceptance_tells_how_many_were_before_it(queue: ExecutionQueueService) -> None:
    for name in "ab":
        queue.enqueue(event(name))
    accepted = [found for found in told(queue) if isinstance(found, ExecutionAcceptedEvent)]
    assert [(found.execution_id, found.position) for found in accepted] == [("a", 0), ("b", 1)]
    assert abs(accepted[0].at - queue.views.server_time_ms()) < 60_000


def test_a_message_has_no_position_rather_than_a_wrong_one(queue: ExecutionQueueService) -> None:
    queue.transitions.park(
        Candidate(
            execution_id="m", lane="l", band=2, action="a", gates=("disk",), message=b"a message", is_lasting=False
        )
    )
    queue.enqueue(event("later", scheduled_at="2099-01-01T00:00:00Z"))
    [message, later] = [entry for entry in queue.journal.entries() if entry.verb == Verb.PARK]
    assert (message.fields["gates"], "position" in message.fields) == ("disk", False)
    assert "position" not in later.fields


def test_an_end_is_told_once_with_its_attempt_and_reason(queue: ExecutionQueueService) -> None:
    queue.enqueue(event("x"))
    assert queue.try_schedule() is not None
    queue.retry("x", 1)
    assert queue.try_schedule() is not None
    queue.release("x", 2, State.FAILED)
    dumped = [found.model_dump() for found in told(queue)]
    assert [(found["event_type"], found.get("attempt")) for found in dumped] == [
        ("execution_accepted", None),
        ("execution_scheduled", 1),
        ("execution_scheduled", 2),
        ("execution_failed", 2),
    ]

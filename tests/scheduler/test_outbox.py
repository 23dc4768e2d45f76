"""The outbox: what ends with nobody there is kept until a worker of its lane has told whoever sent it.

Who collects an end and dies leaves it to the next, so it is told at least once; a lane without workers keeps so many,
for so long. Nothing is asked for, and nothing is written, where nothing is there.
"""

from collections.abc import Callable

import pytest
import redis
from defects.contrast import event
from posting import LANE, collect, is_said, let_a_millisecond_pass, lose_each_lease, park, start

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On an empty database."""
    return ExecutionQueueService(redis_client, lane=LANE)


def expire(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 1)
    wait_until(queue.maintenance.sweep, what="the sweep")


def cancel(queue: ExecutionQueueService) -> None:
    queue.cancel("x")


def remove(queue: ExecutionQueueService) -> None:
    queue.remove("x")


def cancel_and_hand_back(queue: ExecutionQueueService) -> None:
    start(queue)
    queue.cancel("x")
    queue.retry("x", 1, kind="hand_back")


def lose_the_lease_once_cancelled(queue: ExecutionQueueService) -> None:
    start(queue, lease_ms=1)
    queue.cancel("x")
    wait_until(queue.maintenance.reap, what="the end of the lease")


@pytest.mark.parametrize(
    ("end", "state", "reason"),
    [
        (expire, State.EXPIRED, "stale"),
        (cancel, State.CANCELLED, "cancelled"),
        (remove, State.CANCELLED, "removed"),
        (cancel_and_hand_back, State.CANCELLED, "cancelled"),
        (lose_each_lease, State.FAILED, "lease_lost"),
        (lose_the_lease_once_cancelled, State.CANCELLED, "cancelled"),
    ],
)
def test_what_ends_without_a_body_is_to_be_told(
    end: Callable[[ExecutionQueueService], None], state: State, reason: str, queue: ExecutionQueueService
) -> None:
    park(queue, "x")
    assert not is_said(queue)
    end(queue)
    assert is_said(queue)
    (untold,) = collect(queue)
    assert (untold.execution_id, untold.state, untold.reason, untold.message) == ("x", state, reason, b"message of x")
    assert untold.ended_at_ms == int(queue.views.meta("x")["ended_at"])


def test_what_a_body_ended_is_not_told_again(queue: ExecutionQueueService) -> None:
    for state in (State.COMPLETED, State.FAILED):
        park(queue, state)
        start(queue)
        queue.release(state, 1, state)
    assert collect(queue) == []
    assert not is_said(queue)


def test_a_refused_follow_up_is_to_be_told(queue: ExecutionQueueService) -> None:
    queue.transitions.bury(Candidate("x", LANE, 2, "send_mail", message=b"m"), "queue_full")
    (untold,) = collect(queue)
    assert (untold.state, untold.reason) == (State.FAILED, "queue_full")
    assert queue.outbox.tell(untold)
    assert queue.views.dead() == ["x"]
    assert queue.views.message("x") == b"m"


def test_the_end_of_an_event_is_nobodys_to_tell(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    # As the actor that runs events parks it, with a message beside the event.
    queue.transitions.park(Candidate("y", "executions", 2, "pod", event=b"{}", message=b"m"))
    queue.cancel("x")
    queue.cancel("y")
    assert redis_client.exists("exec_queue:lane:executions:outbox") == 0
    assert queue.views.message("y") is None
    assert not is_said(queue, "executions")


def test_who_collects_an_end_and_dies_leaves_it_to_the_next(queue: ExecutionQueueService) -> None:
    park(queue, "x")
    queue.cancel("x")
    (first,) = collect(queue, taken_ms=300)
    assert collect(queue) == [], "nobody else is given it meanwhile"
    assert not is_said(queue)
    wait_until(lambda: is_said(queue), what="the end of the while")
    (second,) = collect(queue)
    assert second == first
    assert queue.outbox.tell(second)
    assert not queue.outbox.tell(first), "who was slow finds that it was told"


def test_a_told_end_leaves_what_any_other_leaves(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    park(queue, "x")
    queue.cancel("x")
    assert redis_client.hexists("exec_queue:settings", f"outbox:{LANE}")
    (untold,) = collect(queue)
    assert queue.views.message("x") is not None
    assert queue.outbox.tell(untold)
    assert queue.views.message("x") is None
    assert queue.views.meta("x")["state"] == State.CANCELLED
    assert redis_client.exists(f"exec_queue:lane:{LANE}:outbox") == 0
    assert not redis_client.hexists("exec_queue:settings", f"outbox:{LANE}")
    assert [entry.verb for entry in queue.journal.of("x")] == ["park", "cancel", "tell"]


def test_a_told_end_is_a_dead_letter_if_it_is_to_be_kept(queue: ExecutionQueueService) -> None:
    park(queue, "x")
    queue.cancel("x")
    (untold,) = collect(queue)
    queue.outbox.tell(untold, dead=True)
    assert queue.views.dead() == ["x"]
    assert queue.views.message("x") == b"message of x"


def test_a_dead_letter_that_is_dropped_before_its_end_was_told_is_told_all_the_same(
    queue: ExecutionQueueService,
) -> None:
    park(queue, "x")
    lose_each_lease(queue)
    assert queue.drop("x")
    (untold,) = collect(queue)
    assert untold.message == b"message of x"
    queue.outbox.tell(untold)
    assert queue.views.message("x") is None


def test_the_end_of_an_earlier_execution_of_an_id_does_not_tell_a_later_one(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    park(queue, "x")
    queue.cancel("x")
    (slow,) = collect(queue)
    queue.outbox.tell(slow)
    redis_client.delete("exec_queue:end:x")  # a day has gone by
    let_a_millisecond_pass(queue)
    park(queue, "x")
    queue.cancel("x")
    assert not queue.outbox.tell(slow)
    assert len(collect(queue)) == 1


def test_an_outbox_that_ran_out_is_not_said_for_ever(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    park(queue, "x")
    queue.cancel("x")
    redis_client.delete(f"exec_queue:lane:{LANE}:outbox")  # its TTL
    assert not is_said(queue)
    assert not redis_client.hexists("exec_queue:settings", f"outbox:{LANE}")


def test_an_end_whose_message_is_gone_is_nobodys_any_more(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    park(queue, "x")
    queue.cancel("x")
    redis_client.delete("exec_queue:message:x")
    assert collect(queue) == []
    assert not is_said(queue)


def test_only_a_lane_that_has_something_is_looked_at(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    park(queue, "x", "elsewhere")
    queue.cancel("x")
    assert not is_said(queue)
    assert is_said(queue, "elsewhere")
    assert not queue.transitions.admit(("elsewhere",), 0).untold, "only a live consumer is told"


def test_a_silent_removal_tells_nobody(queue: ExecutionQueueService) -> None:
    park(queue, "x")
    queue.transitions.remove("x", silent=True)
    assert collect(queue) == []
    assert queue.views.message("x") is None

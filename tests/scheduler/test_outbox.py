"""The outbox: what ends with nobody there is kept until a worker of its lane has told whoever sent it.

Who collects an end and dies leaves it to the next, so it is told at least once; a lane without workers keeps so many,
for so long. Nothing is asked for, and nothing is written, where nothing is there.
"""

from collections.abc import Callable

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.outbox import UntoldEnd
from bandmaster.scheduler.parking import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.states import State
from waiting import wait_until

LANE = "mail"
TAKEN_MS = 60_000


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On an empty database."""
    return ExecutionQueueService(redis_client, lane=LANE)


def park(queue: ExecutionQueueService, name: str, lane: str = LANE) -> None:
    queue.transitions.park(Candidate(name, lane, 2, "send_mail", message=f"message of {name}".encode()))


def start(queue: ExecutionQueueService, lease_ms: int = 30_000) -> None:
    assert len(queue.transitions.admit((LANE,), 1, lease_ms=lease_ms).grants) == 1


def collect(queue: ExecutionQueueService, count: int = 10, taken_ms: int = TAKEN_MS) -> list[UntoldEnd]:
    return queue.outbox.collect(LANE, count, taken_ms=taken_ms)


def let_a_millisecond_pass(queue: ExecutionQueueService) -> None:
    began_ms = queue.views.server_time_ms()
    wait_until(lambda: queue.views.server_time_ms() > began_ms, what="a millisecond")


def is_said(queue: ExecutionQueueService, lane: str = LANE) -> bool:
    """What a consumer is told by its next call."""
    return queue.transitions.admit((lane,), 0, consumer=True).untold


def expire(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 0)
    wait_until(queue.maintenance.sweep, what="the sweep")


def cancel(queue: ExecutionQueueService) -> None:
    queue.cancel("x")


def remove(queue: ExecutionQueueService) -> None:
    queue.remove("x")


def cancel_and_hand_back(queue: ExecutionQueueService) -> None:
    start(queue)
    queue.cancel("x")
    queue.retry("x", 1, kind="hand_back")


def lose_each_lease(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_crashes", 0)
    start(queue, lease_ms=1)
    wait_until(queue.maintenance.reap, what="the end of the lease")


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
    assert [entry.verb for entry in queue.views.timeline("x")] == ["park", "cancel", "tell"]


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


def test_a_lane_without_workers_keeps_so_many_ends_and_so_long(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("max_dead_messages", 2)
    queue.controls.change_setting("dead_message_ttl_seconds", 3_600)
    for name in ("a", "b", "c"):
        park(queue, name)
        queue.cancel(name)
        let_a_millisecond_pass(queue)
    assert queue.views.message("a") is None
    for key in (f"lane:{LANE}:outbox", "message:b", "meta:b"):
        assert 3_500 < int(redis_client.ttl(f"exec_queue:{key}")) <= 3_600  # type: ignore[arg-type]
    assert [end.execution_id for end in collect(queue)] == ["b", "c"]


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


def run_out(client: redis.Redis, name: str) -> None:
    """Its record's time is over, while the ends of others keep the outbox."""
    client.delete(*(f"exec_queue:{kind}:{name}" for kind in ("meta", "message", "result", "end")))


def left_in_outbox(client: redis.Redis) -> list[bytes]:
    return client.zrange(f"exec_queue:lane:{LANE}:outbox", 0, -1)  # type: ignore[return-value]


def test_an_end_whose_time_is_over_is_not_that_of_a_living_execution_of_its_id(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    park(queue, "x")
    queue.cancel("x")
    run_out(redis_client, "x")
    park(queue, "x")
    assert collect(queue) == []
    assert left_in_outbox(redis_client) == []
    assert not is_said(queue)
    start(queue)


def test_an_end_whose_time_is_over_is_not_another_end_of_its_id(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    for name in ("x", "y"):
        park(queue, name)
        queue.cancel(name)
        run_out(redis_client, name)
    park(queue, "x")
    start(queue)
    queue.transitions.release("x", 1, State.FAILED, dead=True)
    park(queue, "y", "elsewhere")
    queue.cancel("y")
    assert collect(queue) == [], "a body ended the one, and another lane tells of the other"
    assert queue.drop("x")
    assert queue.views.message("x") is None
    (elsewhere,) = queue.outbox.collect("elsewhere", 10, taken_ms=0)
    assert elsewhere.execution_id == "y"


def test_ends_whose_time_is_over_do_not_hide_one_that_is_to_be_told(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    for name in ("a", "b", "c", "d", "e"):
        park(queue, name)
        queue.cancel(name)
        let_a_millisecond_pass(queue)
    for name in ("a", "b", "d"):
        run_out(redis_client, name)
    assert [end.execution_id for end in collect(queue, count=2)] == ["c", "e"]
    assert left_in_outbox(redis_client) == [b"c", b"e"]


def test_an_excess_of_ends_costs_no_living_execution(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    park(queue, "x")
    queue.cancel("x")
    run_out(redis_client, "x")
    park(queue, "x")
    let_a_millisecond_pass(queue)
    queue.controls.change_setting("max_dead_messages", 1)
    park(queue, "y")
    queue.cancel("y")
    assert left_in_outbox(redis_client) == [b"y"]
    assert queue.views.message("x") == b"message of x"
    assert [entry.verb for entry in queue.views.timeline("x")] == ["park", "cancel", "park"]
    start(queue)


def test_an_outbox_forgets_ends_whose_time_is_over(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    queue.controls.change_setting("dead_message_ttl_seconds", 1)
    park(queue, "a")
    queue.cancel("a")
    redis_client.persist(f"exec_queue:lane:{LANE}:outbox")  # as if others ended meanwhile
    wait_until(lambda: not queue.views.meta("a"), what="the end of its time")
    park(queue, "b")
    queue.cancel("b")
    assert left_in_outbox(redis_client) == [b"b"]


def test_a_dead_letter_too_many_whose_end_was_not_told_yet_is_told_all_the_same(queue: ExecutionQueueService) -> None:
    park(queue, "x")
    lose_each_lease(queue)
    queue.controls.change_setting("max_dead_messages", 1)
    let_a_millisecond_pass(queue)
    park(queue, "y")
    start(queue)
    queue.transitions.release("y", 1, State.FAILED, dead=True)
    assert queue.views.dead() == ["y"]
    (untold,) = collect(queue)
    assert (untold.execution_id, untold.message) == ("x", b"message of x")

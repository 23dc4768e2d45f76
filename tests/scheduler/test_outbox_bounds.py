"""How many ends an outbox keeps, and how long: all of a lane that workers empty, so many of one that nobody comes for.

An entry may outlive the record of its end. It is nobody's then: not that of a later execution under the same id.
"""

import pytest
import redis
from posting import (
    LANE,
    cancel_many,
    collect,
    is_said,
    left_in_outbox,
    let_a_millisecond_pass,
    lose_each_lease,
    park,
    run_out,
    start,
)
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On an empty database."""
    return ExecutionQueueService(redis_client, lane=LANE)


def test_a_lane_with_workers_drops_no_end_however_many_there_are(queue: ExecutionQueueService) -> None:
    assert not is_said(queue)  # asked as a consumer
    queue.controls.change_setting("max_dead_messages", 1)
    cancel_many(queue, "a", "b", "c")
    assert [end.execution_id for end in collect(queue)] == ["a", "b", "c"]
    assert queue.outbox.take_dropped(LANE) == 0


def test_a_lane_whose_workers_went_away_long_ago_is_one_without(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    assert not is_said(queue)
    queue.controls.change_setting("max_dead_messages", 1)
    queue.clock.turn(3_600_000)
    cancel_and_turn(queue, "a", "b", "c")
    assert queue.views.untold(LANE) == 3, "a worker that is away for a while comes back to all of them"
    cancel_and_turn(queue, "d")
    assert [end.execution_id for end in collect(queue)] == ["d"]


def test_a_worker_that_comes_back_after_long_is_one_from_its_first_call_on(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_dead_messages", 1)
    for name in ("a", "b", "c"):
        queue.transitions.park(Candidate(name, LANE, 2, "send_mail", max_age_ms=1_000, message=b"m"))
    assert not is_said(queue)
    assert not is_said(queue)
    queue.clock.turn(3_600_001)
    assert is_said(queue), "the same call expires them"
    assert {end.execution_id for end in collect(queue)} == {"a", "b", "c"}


def cancel_and_turn(queue: TurnedQueue, *names: str) -> None:
    for name in names:
        park(queue, name)
        queue.cancel(name)
    queue.clock.turn(1)


def test_what_was_dropped_is_counted_and_asked_for_once(queue: ExecutionQueueService) -> None:
    queue.controls.change_setting("max_dead_messages", 1)
    cancel_many(queue, "a", "b", "c")
    assert queue.outbox.take_dropped(LANE) == 2
    assert queue.outbox.take_dropped(LANE) == 0
    dropped = [entry.fields["reason"] for entry in queue.journal.entries() if entry.verb == "drop"]
    assert dropped == ["max_dead_messages"] * 2


def test_a_mark_goes_with_an_outbox_that_ran_out_where_nobody_asks(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    cancel_many(queue, "x")
    redis_client.delete(f"exec_queue:lane:{LANE}:outbox")  # its TTL
    queue.maintenance.sweep()
    assert not redis_client.hexists("exec_queue:settings", f"outbox:{LANE}")


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
    assert [entry.verb for entry in queue.journal.of("x")] == ["park", "cancel", "park"]
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


def test_dead_letters_too_many_of_one_millisecond_are_told_all_the_same(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    assert not is_said(queue)  # asked as a consumer
    queue.controls.change_setting("max_dead_messages", 1)
    for name in ("y", "x"):  # the first by name goes: the one that comes last
        queue.transitions.bury(Candidate(name, LANE, 2, "send_mail", message=b"m"), "queue_full")
    assert queue.views.dead() == ["y"]
    assert {end.execution_id for end in collect(queue)} == {"x", "y"}

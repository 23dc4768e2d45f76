"""What a call does beside its own work is bounded over all lanes together: it stays short however many there are."""

from typing import Any

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.model.errors import QueueFull
from bandmaster.scheduler.model.states import State

SWEPT_A_SECOND = 50
MADE_ROOM_FOR = 100
A_PAGE_OF_LANES = 2
"""So many commands read one."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Its clock is turned."""
    return TurnedQueue(redis_client)


def waiting(queue: TurnedQueue, lanes: int, each: int) -> list[str]:
    """So many lanes, with so many in each."""
    names = [f"lane{number}" for number in range(lanes)]
    for lane in names:
        queue.transitions.park_many(
            [Candidate(f"{lane}-{number}", lane, 2, "pod", message=b"x") for number in range(each)]
        )
    return names


def set_timeouts(queue: TurnedQueue, lanes: list[str], seconds: int, *, only_if_unset: bool = False) -> None:
    """Of each."""
    for lane in lanes:
        queue.controls.change_setting("stale_timeout_seconds", seconds, lane=lane, only_if_unset=only_if_unset)


def to_go_through(client: redis.Redis) -> int:
    """Of how many lanes the deadlines are to be indexed anew."""
    fields: Any = client.hkeys("exec_queue:settings")
    return sum(field.endswith(b"deadlines_from") for field in fields)


def indexed(client: redis.Redis) -> Any:
    """How many have a deadline."""
    return client.zcard("exec_queue:deadlines")


def a_second_later(queue: TurnedQueue) -> None:
    """Somebody asks."""
    queue.clock.turn(1_000)
    assert not queue.transitions.admit(("none",), 1).grants


def test_a_call_indexes_so_many_deadlines_of_all_lanes_together_and_later_ones_the_rest(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    lanes = waiting(queue, 10, 30)
    set_timeouts(queue, lanes, 60)
    for seconds in range(1, 7):
        a_second_later(queue)
        assert indexed(redis_client) <= SWEPT_A_SECOND * seconds
    for _ in range(4):
        a_second_later(queue)
    assert (indexed(redis_client), to_go_through(redis_client)) == (300, 0)


def test_a_lane_in_which_nobody_waits_counts_as_one(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    set_timeouts(queue, [f"lane{number}" for number in range(SWEPT_A_SECOND + 10)], 60)
    a_second_later(queue)
    assert to_go_through(redis_client) == 10
    a_second_later(queue)
    assert to_go_through(redis_client) == 0


def test_a_full_sweep_leaves_no_lane_out(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    set_timeouts(queue, waiting(queue, 10, 30), 60)
    queue.clock.turn(60_001)
    assert queue.maintenance.sweep() == 300
    assert (indexed(redis_client), to_go_through(redis_client)) == (0, 0)


def test_a_refusal_indexes_what_waits_in_its_own_lane_alone(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    set_timeouts(queue, waiting(queue, 5, 150), 60)
    queue.controls.change_setting("max_queue_size", 150, lane="lane3")
    more = [Candidate(f"more{number}", "lane3", 2, "pod", message=b"x") for number in range(3)]
    assert all(isinstance(each, QueueFull) for each in queue.transitions.park_many(more))
    assert indexed(redis_client) == MADE_ROOM_FOR
    assert to_go_through(redis_client) == 5


@pytest.mark.parametrize("first_lane", ["mail", "other"])
def test_a_full_lane_whose_timeout_was_just_set_makes_room_of_what_is_stale(
    queue: TurnedQueue, first_lane: str
) -> None:
    for lane in ("mail", "other"):
        queue.controls.change_setting("max_queue_size", 1, lane=lane)
        queue.transitions.park(Candidate(f"old-{lane}", lane, 2, "pod", message=b"x"))
    queue.clock.turn(60_001)
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    lanes = dict.fromkeys((first_lane, "mail"))  # where another was full before, nothing stale was found for it
    outcomes = queue.transitions.park_many([Candidate(f"new-{lane}", lane, 2, "pod", message=b"x") for lane in lanes])
    assert not isinstance(outcomes[-1], Exception)
    assert queue.views.meta("old-mail")["state"] == State.EXPIRED


def test_a_process_that_puts_down_what_holds_already_has_nothing_indexed_again(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    lanes = waiting(queue, 3, 2)
    set_timeouts(queue, lanes, 60, only_if_unset=True)
    assert to_go_through(redis_client) == 3
    queue.maintenance.sweep()
    set_timeouts(queue, lanes, 60, only_if_unset=True)
    set_timeouts(queue, lanes, 90, only_if_unset=True)
    set_timeouts(queue, lanes[:2], 60)
    assert to_go_through(redis_client) == 0
    set_timeouts(queue, lanes[:1], 90)
    assert to_go_through(redis_client) == 1


def test_what_leaves_a_lane_before_its_lifted_timeout_was_swept_leaves_no_deadline_behind(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 60, lane="mail")
    queue.transitions.park(Candidate("waits", "mail", 2, "pod", message=b"x"))
    assert indexed(redis_client) == 1
    queue.controls.change_setting("stale_timeout_seconds", None, lane="mail")
    queue.transitions.cancel("waits")
    assert indexed(redis_client) == 0


def commands(queue: TurnedQueue, client: redis.Redis, name: str) -> int:
    """How many there are in a call that finds nothing, one that changes nothing, and one that ends something."""
    queue.transitions.park(Candidate(name, "mail", 4, "pod", message=b"x"))
    queue.clock.turn(1_000)
    (grant,) = queue.transitions.admit(("mail",), 1, lease_ms=30_000).grants
    client.config_resetstat()
    queue.transitions.admit(("none",), 0, consumer=True)
    queue.controls.change_setting("max_queue_size", 10_000, lane="mail", only_if_unset=True)
    queue.controls.change_setting("grace_ms", 30_000)
    queue.transitions.release(name, grant.attempt, State.COMPLETED, following=Next(("mail",), 1, 30_000))
    statistics: Any = client.info("commandstats")
    return sum(each["calls"] for each in statistics.values())


@pytest.mark.parametrize("is_raised", [False, True])
def test_commands_of_a_call_do_not_grow_with_the_lanes(
    queue: TurnedQueue, redis_client: redis.Redis, is_raised: bool
) -> None:
    made = []
    for some in ("first", "early", "late"):
        queue.controls.set_limit("tenant:*", 0 if is_raised else None)
        for lane in (f"{some}{number}" for number in range(50)):
            queue.transitions.park(Candidate(lane, lane, 2, "pod", gates=(f"tenant:{lane}",), message=b"x"))
            if is_raised:
                assert not queue.transitions.admit((lane,), 1).grants
        queue.controls.set_limit("tenant:*", 1)
        made.append(commands(queue, redis_client, f"ends-{some}"))
    # The best lane that is served is looked for among the first thousand, in pages of a hundred (include/ranking.lua).
    assert made[2] - made[1] <= A_PAGE_OF_LANES


def release(queue: TurnedQueue, name: str) -> list[str]:
    """By a process of lane `mail`; what it was given next."""
    following = Next(lanes=("mail",), count=1, lease_ms=30_000)
    settled = queue.transitions.release(name, 1, State.COMPLETED, following=following)
    return [grant.execution_id for grant in settled.grants]


def test_a_worker_elsewhere_gets_the_slot_if_its_lane_has_the_better_candidate(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("max_concurrent", 1)
    for number in range(4):
        queue.transitions.park(Candidate(f"mail{number}", "mail", 2, "pod", message=b"x"))
    assert len(queue.transitions.admit(("mail",), 1, lease_ms=30_000, consumer=True).grants) == 1
    queue.transitions.park(Candidate("urgent", "pages", 0, "pod", message=b"x"))
    assert release(queue, "mail0") == ["mail1"], "nobody asks for the other lane"
    queue.transitions.admit(("pages",), 1, consumer=True)
    queue.clock.turn(6_001)
    assert release(queue, "mail1") == ["mail2"], "nobody has asked for it of late"
    queue.transitions.admit(("pages",), 1, consumer=True)
    queue.clock.turn(6_000)
    assert release(queue, "mail2") == []
    assert redis_client.llen("exec_queue:wake:pages") == 1
    (grant,) = queue.transitions.admit(("pages",), 1, lease_ms=30_000, consumer=True).grants
    assert grant.execution_id == "urgent"

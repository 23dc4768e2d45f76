"""How long work has waited, could have begun and stood still, by the clock of the server, whatever the band."""

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.ages import Ages, LaneAges
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

LANE = "mails"
SECONDS = 1_000
BEGAN_SECONDS_AGO = 3_000
NOTED_MS = 1_000
"""How exactly a movement is noted."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Its scripts begin in the past; when a test has turned them on by so much, they are in the present."""
    queue = TurnedQueue(redis_client)
    queue.clock.turn(queue.views.server_time_ms() - queue.clock.now_ms - BEGAN_SECONDS_AGO * SECONDS)
    return queue


def send(queue: TurnedQueue, name: str, band: Priority = Priority.NORMAL, gates: tuple[str, ...] = ()) -> None:
    queue.transitions.park(Candidate(name, LANE, int(band), "mail", message=b"x", gates=gates))


def take(queue: TurnedQueue) -> str | None:
    grants = queue.transitions.admit((LANE,), 1, lease_ms=10**8).grants
    return grants[0].execution_id if grants else None


def check(queue: TurnedQueue, oldest: int, startable: int, standstill: int) -> None:
    """Compare the ages in seconds with those by the turned clock, behind which the server's own is by now."""
    passed_ms = queue.views.server_time_ms() - queue.clock.now_ms
    (ages,) = Ages(queue.scripts).of(queue.views.status_of([LANE]))
    passed_by_now_ms = queue.views.server_time_ms() - queue.clock.now_ms
    found = (ages.oldest_ms, ages.startable_ms, ages.standstill_ms)
    for age_ms, expected in zip(found, (oldest, startable, standstill), strict=True):
        least, most = (expected * SECONDS + passed for passed in (passed_ms, passed_by_now_ms))
        assert (age_ms == 0) if expected == 0 else (least - NOTED_MS <= age_ms <= most + NOTED_MS), found


def later(queue: TurnedQueue, seconds: int) -> None:
    queue.clock.turn(seconds * SECONDS)


def test_where_nothing_waits_or_runs_all_ages_are_0(queue: TurnedQueue) -> None:
    assert Ages(queue.scripts).of(queue.views.status_of([LANE])) == [LaneAges(0, 0, 0)]
    send(queue, "a")
    assert take(queue) == "a"
    queue.transitions.release("a", None, State.COMPLETED)
    later(queue, BEGAN_SECONDS_AGO)
    check(queue, 0, 0, 0)  # nothing is there that could move


def test_what_nobody_takes_waits_could_begin_and_stands_still(queue: TurnedQueue) -> None:
    send(queue, "low", Priority.LOW)
    later(queue, 1_000)
    send(queue, "high", Priority.CRITICAL)
    later(queue, 2_000)
    # The one of the better band would start next, and the other waits longest.
    check(queue, 3_000, 2_000, 3_000)


def test_a_grant_and_an_end_are_progress_and_time_without_work_is_no_standstill(queue: TurnedQueue) -> None:
    send(queue, "a")
    assert take(queue) == "a"
    later(queue, 1_000)
    queue.transitions.release("a", None, State.COMPLETED)
    later(queue, 500)
    send(queue, "b")
    later(queue, 1_400)
    check(queue, 1_400, 1_400, 1_400)  # since there was something again
    assert take(queue) == "b"
    later(queue, 100)
    check(queue, 0, 0, 100)


def test_what_runs_and_does_not_end_stands_still_though_others_come(queue: TurnedQueue) -> None:
    queue.controls.change_setting("max_concurrent_executions", 1, lane=LANE)
    send(queue, "a")
    assert take(queue) == "a"
    later(queue, 2_000)
    send(queue, "b")
    assert take(queue) is None
    later(queue, 1_000)
    check(queue, 1_000, 0, 3_000)  # no slot is free for b


@pytest.mark.parametrize("held_back_by", ["gate", "lane", "everything", "limit"])
def test_what_something_holds_back_could_not_begin(queue: TurnedQueue, held_back_by: str) -> None:
    send(queue, "a", gates=("tenant:acme",))
    if held_back_by == "gate":
        queue.controls.set_limit("tenant:acme", 0)
    elif held_back_by == "limit":
        queue.controls.change_setting("max_concurrent", 1)
        queue.transitions.park(Candidate("other", "others", 1, "mail", message=b"x"))
        assert queue.transitions.admit(("others",), 1, lease_ms=10**8).grants
    else:
        queue.controls.pause("*" if held_back_by == "everything" else f"lane:{LANE}")
    assert take(queue) is None
    later(queue, BEGAN_SECONDS_AGO)
    check(queue, 3_000, 0, 3_000)


def test_lanes_are_read_in_order(queue: TurnedQueue) -> None:
    send(queue, "a")
    later(queue, BEGAN_SECONDS_AGO)
    of = Ages(queue.scripts).of(queue.views.status_of(["others", LANE]))
    assert [age.oldest_ms > 0 for age in of] == [False, True]
    assert Ages(queue.scripts).of([]) == []


def test_a_lane_that_an_operator_chose_to_be_strict_has_ages(queue: TurnedQueue) -> None:
    queue.shares.share(LANE, None)
    send(queue, "a")
    later(queue, BEGAN_SECONDS_AGO)
    check(queue, BEGAN_SECONDS_AGO, BEGAN_SECONDS_AGO, BEGAN_SECONDS_AGO)

"""F18: the server's clock leaps by ten minutes, forth or back: no order changes, and nothing ends in masses."""

import pytest
import redis
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Renewal
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State

TEN_MINUTES_MS = 600_000
LEAPS = pytest.mark.parametrize("leap_ms", [TEN_MINUTES_MS, -TEN_MINUTES_MS], ids=["forth", "back"])


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Four that run under leases of 30 s, renewed in time; twenty that wait."""
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 4)
    for number in range(24):
        queue.enqueue(event(f"e{number:02}"))
        queue.clock.turn(1)
    queue.transitions.admit((queue.lane,), 4, lease_ms=30_000, consumer=True)
    queue.clock.turn(1_000)
    queue.transitions.admit((queue.lane,), 4, lease_ms=30_000, consumer=True)
    return queue


@LEAPS
def test_no_grant_is_lost_whose_holder_lives(leap_ms: int, queue: TurnedQueue) -> None:
    held = sorted(queue.views.active())
    queue.clock.turn(leap_ms)
    for _ in range(3):
        assert queue.transitions.admit((queue.lane,), 4, lease_ms=30_000, consumer=True).grants == []
        queue.maintenance.reap()
        queue.clock.turn(5_000)
    assert queue.transitions.renew([(name, 1, "") for name in held]) == [Renewal.RENEWED] * 4
    queue.let_time_pass(20)
    assert sorted(queue.views.active()) == held
    assert {queue.views.meta(name)["attempt"] for name in held} == {"1"}


@LEAPS
def test_a_grant_whose_holder_is_gone_is_taken_back_after_about_a_lease(leap_ms: int, queue: TurnedQueue) -> None:
    queue.clock.turn(leap_ms)
    queue.let_time_pass(60)
    assert queue.views.active() == []
    assert queue.get_queue_status()["queue_depth"] == 24


@LEAPS
def test_nothing_that_waits_is_reordered_or_expired(
    leap_ms: int, queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("max_concurrent_executions", 100)
    before = queue.views.pending()
    queue.clock.turn(leap_ms)
    for number in range(3):
        queue.enqueue(event(f"new-{number}"))
    queue.clock.turn(-leap_ms)
    queue.enqueue(event("newest"))
    assert queue.views.pending() == [*before, "new-0", "new-1", "new-2", "newest"]
    assert queue.maintenance.sweep() == 0
    started = [queue.try_schedule() for _ in range(24)]
    assert [one and one[0] for one in started] == [*before, "new-0", "new-1", "new-2", "newest"]
    Invariants().check(read_dump(redis_client, queue.scripts.keys), one_step=False)


@LEAPS
def test_each_band_is_still_counted_under_its_own_name(leap_ms: int, queue: TurnedQueue) -> None:
    queue.enqueue(event("urgent", priority="CRITICAL"))
    queue.clock.turn(leap_ms)
    queue.enqueue(event("some-time", priority="BACKGROUND"))
    counted = queue.get_pending_by_priority()
    assert counted == {**dict.fromkeys(Priority.__members__, 0), "CRITICAL": 1, "NORMAL": 20, "BACKGROUND": 1}


def test_a_leap_beyond_the_stale_timeout_expires_only_what_it_says(queue: TurnedQueue) -> None:
    """An hour away is an hour waited: that is what the stale timeout means. What runs is not touched by it."""
    queue.clock.turn(3_700_000)
    assert queue.maintenance.sweep() == 20
    assert len(queue.views.active()) == 4
    assert queue.views.meta("e04")["state"] == State.EXPIRED


@pytest.mark.parametrize("calls_at", [(20,), (18, 2), (16, 1)], ids=["rare", "in pairs", "in close pairs"])
def test_leases_end_also_where_calls_are_always_rare(calls_at: tuple[int, ...], queue: TurnedQueue) -> None:
    passed = 0
    while queue.views.active():
        for seconds in calls_at:
            queue.clock.turn(seconds * 1000)
            passed += seconds
            queue.maintenance.reap()
        assert passed < 6 * 30, "a lease of 30 s has not ended"


@pytest.mark.parametrize("on_ms", [1, 300, 2_000])
def test_a_server_that_flaps_ends_no_lease_whose_holder_could_not_renew(on_ms: int, queue: TurnedQueue) -> None:
    held = sorted(queue.views.active())
    for away_ms in (32_000, 32_000):
        queue.clock.turn(away_ms)
        queue.maintenance.reap()
        queue.clock.turn(on_ms)
        queue.maintenance.reap()
    assert sorted(queue.views.active()) == held

"""The server's clock leaps far ahead and comes back: schedules go on by the time that it has now."""

from datetime import UTC, datetime
from typing import Any

import pytest
from schedule_playing import MINUTE_MS, Played, ids, schedule

pytestmark = pytest.mark.slow

YEAR_MS = 365 * 24 * 60 * MINUTE_MS
MINUTES_A_YEAR = YEAR_MS // MINUTE_MS


def let_leap(played: Played, *, promotes: bool = True, plans: bool = True) -> None:
    """A year ahead for one round, and back."""
    played.clock.turn(YEAR_MS)
    if promotes:
        played.maintenance.promote()
    if plans:
        played.planner.round()
    played.clock.turn(-YEAR_MS)


@pytest.mark.parametrize("does", [{}, {"promotes": False}, {"plans": False}])
@pytest.mark.parametrize("planner_dies", [False, True])
def test_occurrences_go_on_after_the_leap_and_come_once(
    played: Played, does: dict[str, Any], planner_dies: bool
) -> None:
    played.schedules.put(schedule())
    played.let_run(2 * MINUTE_MS + 1_000)
    let_leap(played, **does)
    in_the_leap = set(played.waiting_ids()) - set(ids("tidy", 1, 2))
    if planner_dies:
        played.planner = played.new_planner()
    played.let_run(5 * MINUTE_MS)
    ran = [each for each in played.waiting_ids() if each not in in_the_leap]
    assert ran == ids("tidy", *range(1, 8))


def test_what_was_planned_in_the_leap_waits_no_more_and_comes_at_its_own_time(played: Played) -> None:
    played.schedules.put(schedule(cron="0 * * * *"))
    played.planner.round()
    (planned,) = played.scheduled_ids()
    let_leap(played)
    (ahead,) = played.scheduled_ids()
    assert ahead != planned
    before = played.waiting_ids()
    played.let_run(10_000)
    assert played.scheduled_ids() == [planned]
    played.clock.turn(YEAR_MS - 20_000)
    played.planner.round()
    played.maintenance.promote()
    assert ahead not in played.waiting_ids()
    played.let_run(61 * MINUTE_MS)
    assert played.waiting_ids().count(ahead) == 1
    assert set(played.waiting_ids()) == {*before, ahead}


def test_one_whose_end_was_over_in_the_leap_goes_on(played: Played) -> None:
    end = datetime.fromtimestamp(played.clock.now_ms / 1000 + 5 * 60, UTC)
    played.schedules.put(schedule(end=end))
    played.planner.round()
    let_leap(played)
    played.let_run(10 * MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1, 2, 3, 4, 5)
    assert played.scheduled_ids() == []


def test_one_that_is_changed_after_the_leap_leaves_nothing_of_it(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    let_leap(played)
    played.schedules.put(schedule(cron="*/2 * * * *"))
    played.planner.round()
    assert played.scheduled_ids() == ids("tidy", 2)


@pytest.mark.parametrize("cron", ["* * * * *", "0 0 29 2 *"])
def test_a_clock_that_stands_right_plans_nothing_again(played: Played, cron: str) -> None:
    played.schedules.put(schedule(cron=cron))
    played.schedules.put(schedule("paused"), paused=True)
    played.let_run(2 * MINUTE_MS)
    revision = played.schedules.get("tidy").revision
    played.clock.turn(10_000)
    assert played.planner.round() == 0
    assert played.schedules.get("tidy").revision == revision

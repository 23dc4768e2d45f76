"""Occurrences are planned before they are due, and each comes exactly once, whoever plans."""

import pytest
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.planning import Planner, put


def test_each_occurrence_comes_once_and_waits_before_it_is_due(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    assert played.scheduled_ids() == ids("tidy", 1)
    played.let_run(5 * MINUTE_MS + 1_000)
    assert played.waiting_ids() == ids("tidy", 1, 2, 3, 4, 5)
    assert played.scheduled_ids() == ids("tidy", 6)


def test_what_is_planned_is_promoted_while_nobody_plans(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.let_run(MINUTE_MS, plans=False)
    assert played.waiting_ids() == ids("tidy", 1)


def test_planners_of_several_processes_make_each_occurrence_once(played: Played) -> None:
    played.schedules.put(schedule())
    planners: list[Planner] = [played.new_planner() for _ in range(3)]
    for _ in range(10):
        played.clock.turn(30_000)
        for each in planners:
            each.round()
        played.maintenance.promote()
    assert played.waiting_ids() == ids("tidy", 1, 2, 3, 4, 5)


def test_one_whose_end_is_over_is_refused_and_not_kept(played: Played) -> None:
    with pytest.raises(InvalidRequest, match="tidy would never run: its end is over; allowed: a later end, or none"):
        put(played.schedules, schedule(end="2020-01-01T00:00:00+00:00"))
    assert played.schedules.page() == []


def test_what_is_due_when_a_schedule_changes_is_let_go_first(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.clock.turn(MINUTE_MS + 1_000)
    played.schedules.pause("tidy")
    assert played.waiting_ids() == ids("tidy", 1)


def test_an_occurrence_that_is_refused_is_not_said_to_have_run(played: Played) -> None:
    played.controls.change_setting("max_queue_size", 1, lane="mails")
    played.schedules.put(schedule())
    played.let_run(4 * MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 1)
    assert played.schedules.get("tidy").problem == "QUEUE_FULL"
    assert played.schedules.get("tidy").runs == tuple(ids("tidy", 1))

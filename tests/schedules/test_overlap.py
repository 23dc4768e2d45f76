"""With `overlap="skip"` an occurrence is left out while an earlier one waits or runs; a run at once counts as one."""

import pytest
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.planning import run_now


def run_next(played: Played) -> str:
    (grant,) = played.transitions.admit(("mails",), 1, lease_ms=10**9).grants
    return grant.execution_id


def end(played: Played, execution_id: str) -> None:
    played.transitions.release(execution_id, 1, State.COMPLETED)


def test_those_that_are_due_while_one_lives_are_left_out(played: Played) -> None:
    played.schedules.put(schedule(overlap="skip"))
    played.planner.round()
    played.let_run(MINUTE_MS)
    assert run_next(played) == ids("tidy", 1)[0]
    played.let_run(3 * MINUTE_MS)
    assert played.waiting_ids() == []
    assert played.schedules.get("tidy").skipped == 3
    assert played.views.meta(ids("tidy", 2)[0]).get("state", State.CANCELLED) == State.CANCELLED
    end(played, ids("tidy", 1)[0])
    played.let_run(MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 5)


def test_a_run_at_once_keeps_the_next_out_and_is_kept_out_by_none(played: Played) -> None:
    played.schedules.put(schedule(overlap="skip"))
    played.planner.round()
    run_now(played.schedules, "tidy", "a")
    run_now(played.schedules, "tidy", "b")
    assert len(played.waiting_ids()) == 2
    played.let_run(MINUTE_MS)
    assert len(played.waiting_ids()) == 2
    assert played.schedules.get("tidy").skipped == 1


@pytest.mark.parametrize("ends", ["at once", "at last"])
def test_one_that_lives_is_known_however_many_runs_at_once_come_and_go(played: Played, ends: str) -> None:
    played.schedules.put(schedule(overlap="skip"))
    played.planner.round()
    played.let_run(MINUTE_MS)
    (first,) = ids("tidy", 1)
    assert run_next(played) == first
    runs = list[str]()
    for number in range(25):
        runs.append(run_now(played.schedules, "tidy", str(number)).execution_id)
        if ends == "at once":
            played.transitions.cancel(runs[-1])
    for each in played.waiting_ids():
        played.transitions.cancel(each)
    assert len(played.schedules.get("tidy").runs) == (20 if ends == "at once" else 26)
    played.let_run(2 * MINUTE_MS)
    assert played.waiting_ids() == []
    assert played.schedules.get("tidy").runs == (first,)
    end(played, first)
    played.let_run(MINUTE_MS)
    assert played.waiting_ids() == ids("tidy", 4)


def test_of_very_many_that_live_the_latest_are_known(played: Played) -> None:
    played.schedules.put(schedule(overlap="skip"), paused=True)
    runs = [run_now(played.schedules, "tidy", str(number)).execution_id for number in range(103)]
    assert played.schedules.get("tidy").runs == tuple(runs[3:])


@pytest.mark.parametrize("times", [1, 4])
def test_others_overlap(played: Played, times: int) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.let_run(times * MINUTE_MS)
    assert len(played.waiting_ids()) == times

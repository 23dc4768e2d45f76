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


@pytest.mark.parametrize("times", [1, 4])
def test_others_overlap(played: Played, times: int) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.let_run(times * MINUTE_MS)
    assert len(played.waiting_ids()) == times

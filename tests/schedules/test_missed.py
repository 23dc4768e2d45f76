"""After an outage of all who plan and promote, each schedule's rule decides what was missed; a pause is no outage."""

from typing import Any

import pytest
from model.clock import START_MS
from schedule_playing import MINUTE_MS, Played, ids, schedule

from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.events.schedule import Schedule
from bandmaster.scheduler.plans import MOST_COUNTED

HOUR_MS = 60 * MINUTE_MS


def let_all_be_away(played: Played, ms: int) -> None:
    """Nobody plans and nobody promotes."""
    played.clock.turn(ms)


@pytest.mark.parametrize("promotes_first", [True, False])
@pytest.mark.parametrize(
    ("rule", "ran"),
    [
        ({"missed": "skip"}, [61]),
        ({"missed": "once"}, [60, 61]),
        ({"missed": "all", "missed_limit": 3}, [58, 59, 60, 61]),
        ({"missed": "all", "missed_limit": 100}, list(range(1, 62))),
    ],
)
def test_of_an_hour_s_outage_runs_what_the_rule_says(
    played: Played, rule: dict[str, Any], ran: list[int], promotes_first: bool
) -> None:
    played.schedules.put(schedule(**rule))
    played.planner.round()  # the first one is parked, and nobody promotes it
    let_all_be_away(played, HOUR_MS + MINUTE_MS + 5_000)
    if promotes_first:
        played.maintenance.promote()
    played.planner.round()
    played.planner.round()
    assert sorted(played.waiting_ids()) == ids("tidy", *ran)
    assert played.scheduled_ids() == ids("tidy", 62)
    held = played.schedules.get("tidy")
    assert held.skipped == 61 - len(ran)
    played.let_run(2 * MINUTE_MS)
    assert sorted(played.waiting_ids())[-2:] == ids("tidy", 62, 63)


@pytest.mark.parametrize(
    ("rule", "most"), [({"missed": "once"}, 1), ({"missed": "all", "missed_limit": 2}, 2), ({"missed": "skip"}, 0)]
)
@pytest.mark.parametrize("hours", [4, 2_000])
def test_one_that_its_jitter_puts_off_is_not_missed_yet(
    played: Played, rule: dict[str, Any], most: int, hours: int
) -> None:
    made = schedule(cron="0 * * * *", jitter_ms=HOUR_MS // 2, **rule)
    late = (hour for hour in range(hours, hours + 500) if delay_ms(made, hour) > 10 * MINUTE_MS)
    last = next(late)
    played.schedules.put(made)
    let_all_be_away(played, last * HOUR_MS + 5 * MINUTE_MS)
    played.planner.round()
    assert played.waiting_ids() == ids("tidy", *(60 * hour for hour in range(last - most, last)))
    assert set(ids("tidy", 60 * last)) <= set(played.scheduled_ids())
    assert played.schedules.get("tidy").skipped == min(last - 1, MOST_COUNTED) - most


def delay_ms(made: Schedule, hour: int) -> int:
    """By how much jitter puts off an occurrence, so many hours after the clock's start."""
    at_ms = START_MS + hour * HOUR_MS
    return made.due_ms(at_ms) - at_ms


def test_an_outage_of_seconds_misses_nothing(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    let_all_be_away(played, MINUTE_MS + 40_000)
    played.maintenance.promote()
    played.planner.round()
    assert played.waiting_ids() == ids("tidy", 1)


def test_an_outage_of_years_costs_no_more_than_one_of_an_hour(played: Played) -> None:
    played.schedules.put(schedule(missed="all", missed_limit=2))
    played.planner.round()
    let_all_be_away(played, 20 * 365 * 24 * HOUR_MS + 5_000)
    played.planner.round()
    played.planner.round()
    assert len(played.waiting_ids()) == 3, "two that were missed, and one that is due now"


def test_what_a_pause_kept_from_running_is_not_made_up_for(played: Played) -> None:
    played.schedules.put(schedule(missed="all"))
    played.planner.round()
    assert played.schedules.pause("tidy")
    assert not played.schedules.pause("tidy")
    assert played.scheduled_ids() == []
    played.let_run(10 * MINUTE_MS)
    let_all_be_away(played, 400 * 24 * HOUR_MS)
    played.planner.round()
    assert played.waiting_ids() == []
    assert played.schedules.resume("tidy")
    played.planner.round()
    (planned,) = played.scheduled_ids()
    assert planned == ids("tidy", 10 + 400 * 24 * 60 + 1)[0]
    assert played.waiting_ids() == []


def test_an_execution_that_is_tried_again_late_is_no_occurrence_that_was_missed(played: Played) -> None:
    played.schedules.put(schedule())
    played.planner.round()
    played.let_run(MINUTE_MS)
    (grant,) = played.transitions.admit(("mails",), 1, lease_ms=60_000).grants
    again = Retry(grant.execution_id, grant.attempt, "retry", delay_ms=5_000)
    played.transitions.prepare_exchange((again,), Next((), 0, 60_000), asks=False).run()
    assert grant.execution_id in played.scheduled_ids()
    let_all_be_away(played, HOUR_MS)
    played.maintenance.promote()
    assert grant.execution_id in played.waiting_ids()

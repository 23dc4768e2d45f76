"""What is planned of a schedule at one time, against a naive plan; and which schedules wait too long."""

from itertools import product
from typing import Any

import pytest
from model.clock import START_MS
from schedule_playing import MINUTE_MS, schedule

from bandmaster.scheduler.engine.held_schedule import Held
from bandmaster.scheduler.events.schedule import MISSED_AFTER_MS, Schedule, instant_of
from bandmaster.scheduler.events.schedule_fields import Missed
from bandmaster.scheduler.plans import ENDED, Plan, plan_of, waits_too_long

BOUNDS: tuple[dict[str, int], ...] = (
    {},
    {"start": -3},
    {"end": -3},
    {"start": -5, "end": -2},
    {"end": 1},
    {"start": 2},
)
"""Minutes after the clock's start."""


def naive(made: Schedule, cursor_ms: int, now_ms: int) -> Plan:
    """Of a schedule that is due each minute."""
    begin_ms, end_ms = made.start_ms or 0, made.end_ms or now_ms + 10 * MINUTE_MS
    minutes = range(cursor_ms // MINUTE_MS + 1, now_ms // MINUTE_MS + 10)
    times = [each * MINUTE_MS for each in minutes if begin_ms <= each * MINUTE_MS <= end_ms]
    missed = [each for each in times if made.due_ms(each) < now_ms - MISSED_AFTER_MS]
    most = {Missed.SKIP: 0, Missed.ONCE: 1, Missed.ALL: made.missed_limit}[made.missed]
    runs = missed[max(0, len(missed) - most) :]
    left = [each for each in times if each not in missed]
    later = [each for each in left if each > now_ms]
    return Plan(runs, len(missed) - len(runs), [each for each in left if each <= now_ms] + later[:1])


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize("rule", [{"missed": "skip"}, {"missed": "once"}, {"missed": "all", "missed_limit": 3}])
def test_it_is_what_a_naive_plan_says(rule: dict[str, Any], bounds: dict[str, int]) -> None:
    given = {name: instant_of(START_MS + minutes * MINUTE_MS) for name, minutes in bounds.items()}
    for jitter_ms in (0, 30_000, MINUTE_MS - 1):
        made = schedule(jitter_ms=jitter_ms, **rule, **given)
        for ago, late_ms in product((0, 1, 2, 9), (0, 1, 20_000, MINUTE_MS - 1)):
            cursor_ms, now_ms = START_MS - ago * MINUTE_MS, START_MS + late_ms
            assert plan_of(made, cursor_ms, now_ms) == naive(made, cursor_ms, now_ms), (jitter_ms, ago, late_ms)


def test_a_cursor_in_the_future_counts_up_to_the_next_time_only() -> None:
    made = schedule()
    next_ms = START_MS + MINUTE_MS
    assert plan_of(made, next_ms, START_MS) == Plan(times_ms=[next_ms + MINUTE_MS])
    for leapt_ms in (next_ms + 1, START_MS + 365 * 24 * 60 * MINUTE_MS):
        assert plan_of(made, leapt_ms, START_MS) == plan_of(made, START_MS, START_MS) == Plan(times_ms=[next_ms])


def held(made: Schedule, *, is_paused: bool = False, **fields: Any) -> Held:
    return Held(made.name, made.to_json(), is_declared=False, is_paused=is_paused, **fields)


def test_one_waits_too_long_if_it_would_miss_its_next_time() -> None:
    goes_on, latest_ms = held(schedule()), START_MS + MINUTE_MS + MISSED_AFTER_MS
    waits = [waits_too_long(goes_on, each, START_MS) for each in (START_MS, latest_ms, latest_ms + 1, None)]
    assert waits == [False, False, True, True]
    assert not waits_too_long(held(schedule(), is_paused=True), None, START_MS)


def test_one_that_has_ended_waits_for_nothing_once_that_is_noted() -> None:
    over = schedule(end=instant_of(START_MS))
    for problem, look_ms, expected in ((None, None, True), (ENDED, None, False), (None, START_MS, False)):
        assert waits_too_long(held(over, problem=problem), look_ms, START_MS) is expected


def test_one_that_cannot_be_read_is_looked_at_at_once() -> None:
    damaged = Held("tidy", "{", is_declared=False, is_paused=False)
    waits = [waits_too_long(damaged, each, START_MS) for each in (None, START_MS, START_MS + MISSED_AFTER_MS + 1)]
    assert waits == [True, False, True]

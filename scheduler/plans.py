"""``plan_of``: which occurrences of one schedule are to be planned at one time. Pure functions.

In the flow: `planning.py` asks, parks what comes of it, and moves the schedule's cursor. Nothing is stored here, so
whoever asks again with the same cursor and time gets the same answer.
"""

from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from .engine.held_schedule import Held
from .events.schedule import MISSED_AFTER_MS, Schedule
from .events.schedule_fields import Missed
from .model.errors import InvalidRequest

MOST_COUNTED: Final = 1_000
"""So many missed occurrences are counted."""
ENDED: Final = "ended"


@dataclass(frozen=True, slots=True)
class Plan:
    """What is to be planned of one schedule at one time."""

    missed_ms: list[int] = field(default_factory=list[int])
    """Missed ones that run all the same."""
    left_out: int = 0
    """How many others are missed."""
    times_ms: list[int] = field(default_factory=list[int])
    """Those that are due, and the next."""


def plan_of(schedule: Schedule, cursor_ms: int, now_ms: int) -> Plan:
    """Decide what is to be planned. Pure.

    Args:
        schedule: The schedule.
        cursor_ms: Each occurrence up to this time is dealt with; if it is behind the next one, the clock had leapt.
        now_ms: The server's time.
    """
    if cursor_ms > next(schedule.times(now_ms), cursor_ms):
        cursor_ms = now_ms
    limit_ms = now_ms - MISSED_AFTER_MS - 1
    missed = 0
    for at_ms in islice(schedule.times(cursor_ms), MOST_COUNTED):
        if schedule.due_ms(at_ms) > limit_ms:
            break
        missed += 1
    runs = list[int]()
    if missed and schedule.missed is not Missed.SKIP:
        most = 1 if schedule.missed is Missed.ONCE else schedule.missed_limit
        begin_ms = cursor_ms if schedule.start_ms is None else max(cursor_ms, schedule.start_ms - 1)
        runs = schedule.line.last_between(begin_ms, _last_missed_ms(schedule, limit_ms), most)
    times = list[int]()
    for at_ms in schedule.times(max(cursor_ms, limit_ms - schedule.jitter_ms)):
        if schedule.due_ms(at_ms) <= limit_ms:
            continue
        times.append(at_ms)
        if at_ms > now_ms:
            break
    return Plan(runs, missed - len(runs), times)


def _last_missed_ms(schedule: Schedule, limit_ms: int) -> int:
    """The time, without jitter, up to which occurrences are missed: those that were due by the limit."""
    last_ms = limit_ms - schedule.jitter_ms
    if schedule.end_ms is not None:
        last_ms = min(last_ms, schedule.end_ms)
    for at_ms in schedule.times(last_ms):
        if schedule.due_ms(at_ms) > limit_ms:
            break
        last_ms = at_ms
    return last_ms


def waits_too_long(held: Held, look_ms: int | None, now_ms: int) -> bool:
    """Whether an active schedule is planned again so late, or never, that it would miss its next occurrence.

    Args:
        held: The schedule.
        look_ms: When it is planned again; None: never.
        now_ms: The server's time.
    """
    if held.is_paused:
        return False
    try:
        next_ms = next(held.schedule.times(now_ms), None)
    except (InvalidRequest, ValueError, OverflowError):
        next_ms = now_ms
    if next_ms is None:
        return look_ms is None and held.problem != ENDED
    return look_ms is None or look_ms > next_ms + MISSED_AFTER_MS


def next_times(schedule: Schedule, after_ms: int, most: int) -> list[int]:
    """Return the next times of a schedule, without jitter, in unix milliseconds."""
    return list(islice(schedule.times(after_ms), most))

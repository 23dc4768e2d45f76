"""Calls about schedules. In the flow: see the package."""

from typing import Any

from ...answers.controls import Changed
from ...answers.executions import Accepted
from ...answers.schedules import NextTimes, OneSchedule, SchedulePage, ScheduleRemoved
from ..call import V1, Call, given, named


def schedules(cursor: str | None = None, limit: int | None = None) -> Call[SchedulePage]:
    """Schedules, by name."""
    return Call("GET", f"{V1}/schedules", SchedulePage, query=given(cursor=cursor, limit=limit))


def schedule(name: str) -> Call[OneSchedule]:
    """A schedule."""
    return Call("GET", named("schedules", name), OneSchedule)


def set_schedule(name: str, fields: dict[str, Any], if_none_match: str | None = None) -> Call[OneSchedule]:
    """Add or replace a schedule.

    Args:
        name: Its name.
        fields: What it runs, and when.
        if_none_match: ``*``: only if there is none of this name.
    """
    headers = {} if if_none_match is None else {"If-None-Match": if_none_match}
    return Call("PUT", named("schedules", name), OneSchedule, body=fields, headers=headers)


def remove_schedule(name: str) -> Call[ScheduleRemoved]:
    """Remove a schedule."""
    return Call("DELETE", named("schedules", name), ScheduleRemoved)


def pause_schedule(name: str) -> Call[Changed]:
    """Pause a schedule."""
    return Call("PUT", f"{named('schedules', name)}/pause", Changed)


def resume_schedule(name: str) -> Call[Changed]:
    """Resume a schedule."""
    return Call("DELETE", f"{named('schedules', name)}/pause", Changed)


def run_schedule(name: str, key: str) -> Call[Accepted]:
    """Run a schedule now; the same `key` again is the same execution."""
    return Call("POST", f"{named('schedules', name)}/run", Accepted, headers={"Idempotency-Key": key})


def next_times(name: str, count: int | None = None) -> Call[NextTimes]:
    """The next times of a schedule."""
    return Call("GET", f"{named('schedules', name)}/next", NextTimes, query=given(count=count))

"""Documents about schedules: what is run again and again, and when.

In the flow: the API's routes make them, and the desk of a command beside Redis does, so that both say the same.
"""

from typing import Any

from pydantic import Field

from ...scheduler.engine.held_schedule import Held
from ...scheduler.events.schedule import Schedule
from ...scheduler.model.errors import InvalidRequest
from ...scheduler.model.times import iso_of
from ...scheduler.planning import DAMAGED
from ...scheduler.plans import next_times
from .document import Answer, Read


class ScheduleAnswer(Answer):
    """A schedule."""

    name: str
    cron: str
    """Five fields: minute, hour, day of the month, month, day of the week."""
    tz: str
    """The time zone of the line."""
    actor: str | None = None
    lane: str | None = None
    args: list[Any] | None = Field(default=None, repr=False)
    """As is `kwargs`, only told to who may read what executions run."""
    kwargs: dict[str, Any] | None = Field(default=None, repr=False)
    command: list[str] | None = Field(default=None, repr=False)
    """Likewise; none: it sends an actor, or it is not told."""
    image: str | None = None
    cpu_limit: str | None = None
    memory_limit: str | None = None
    timeout_seconds: int | None = None
    priority: str | None = None
    action: str | None = None
    user_id: str | None = None
    gates: list[str] = Field(default=[])
    missed: str = "skip"
    """What becomes of occurrences that nobody could start: `skip`, `once` or `all`."""
    missed_limit: int = 10
    """With `all`: so many of them at most."""
    overlap: str = "allow"
    """What becomes of one while an earlier one waits or runs: `allow` or `skip`."""
    jitter_ms: int = 0
    start_at: str | None = None
    end_at: str | None = None
    declared: bool
    """Whether an application declares it; else an operator added it."""
    paused: bool
    next_at: str | None = None
    """When the next occurrence is due, without jitter; none if it is paused, or has ended."""
    skipped: int = 0
    """How many were left out, as missed or since an earlier one lived."""
    last_run: str | None = None
    """The execution that is the latest occurrence."""
    problem: str | None = None
    """Why nothing is planned: `ended`, `not_readable`, `queue_full`, `user_limit`."""


class OneSchedule(ScheduleAnswer, Read):
    """One schedule, as it is now."""


class SchedulePage(Read):
    """A page of schedules, by name."""

    schedules: list[ScheduleAnswer]
    next: str | None
    """The cursor of the next page; none on the last one."""


class ScheduleRemoved(Answer):
    """A schedule that was removed."""

    name: str
    declared: bool
    """Whether an application declares it: as long as one does, it comes back when a worker starts."""


class NextTimes(Read):
    """The next times of a schedule."""

    name: str
    tz: str
    paused: bool
    """If it is, none of them runs until it is resumed."""
    times: list[str]
    """Without jitter; RFC 3339 in UTC."""


def schedule_answer(held: Held, now_ms: int, *, tells_payload: bool) -> ScheduleAnswer:
    """Return a schedule as it is told.

    Args:
        held: The schedule.
        now_ms: The server's time.
        tells_payload: Whether arguments and the command are told.
    """
    told = {
        "name": held.name,
        "declared": held.is_declared,
        "paused": held.is_paused,
        "skipped": held.skipped,
        "last_run": held.runs[-1] if held.runs else None,
        "problem": None if held.problem is None else held.problem.lower(),
    }
    try:
        schedule = held.schedule
    except InvalidRequest:
        return ScheduleAnswer.model_validate(told | {"cron": "", "tz": "UTC", "problem": DAMAGED})
    coming = [] if held.is_paused else next_times(schedule, now_ms, 1)
    payload = _payload(schedule) if tells_payload else {}
    return ScheduleAnswer.model_validate(
        told
        | payload
        | {
            "cron": schedule.cron,
            "tz": schedule.tz,
            "actor": schedule.actor,
            "lane": schedule.lane_used,
            "image": schedule.image,
            "cpu_limit": schedule.cpu_limit,
            "memory_limit": schedule.memory_limit,
            "timeout_seconds": schedule.timeout_seconds,
            "priority": schedule.priority.name,
            "action": schedule.action_used,
            "user_id": schedule.user_id,
            "gates": list(schedule.gates),
            "missed": schedule.missed.value,
            "missed_limit": schedule.missed_limit,
            "overlap": schedule.overlap.value,
            "jitter_ms": schedule.jitter_ms,
            "start_at": iso_of(schedule.start_ms),
            "end_at": iso_of(schedule.end_ms),
            "next_at": iso_of(coming[0]) if coming else None,
        }
    )


def _payload(schedule: Schedule) -> dict[str, Any]:
    if schedule.command is not None:
        return {"command": list(schedule.command)}
    return {"args": list(schedule.args), "kwargs": schedule.kwargs}

"""Parses typed times and durations (``5m``, ``+1h30m``, ISO 8601), and formats them for people. Pure.

Typed durations are in whole seconds; shown ones are in milliseconds, as they are stored. A typed time without a zone is
in the zone of this machine, or of what it is for.
"""

import re
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final

from bandmaster.cli.exits import WrongUsage
from bandmaster.scheduler.engine.record import Record
from bandmaster.scheduler.model.errors import shown
from bandmaster.scheduler.model.states import State

_DURATION: Final = re.compile(r"(?:(\d{1,6})d)?(?:(\d{1,6})h)?(?:(\d{1,6})m)?(?:(\d{1,9})s?)?", re.ASCII)
_SECONDS: Final = (86_400, 3_600, 60, 1)


def read_duration(text: str, name: str) -> int:
    """Parse a duration such as ``300``, ``90s``, ``5m`` or ``1h30m`` into seconds.

    Raises:
        WrongUsage: If the text is no duration; the message begins with `name`.
    """
    found = _DURATION.fullmatch(text)
    if not text or found is None:
        raise WrongUsage(f"{name}: {shown(text)} is not a duration; allowed: like 300, 90s, 5m, 1h30m or 90d")
    return sum(int(part or 0) * seconds for part, seconds in zip(found.groups(), _SECONDS, strict=True))


def read_when(text: str, name: str = "--at", zone: tzinfo | None = None) -> datetime | timedelta:
    """Parse a time in ISO 8601, or a duration from now such as ``+5m``.

    Args:
        text: What was typed.
        name: The option's name.
        zone: Of a time that names none; None: this machine's.

    Raises:
        WrongUsage: If the text is neither; the message begins with `name`.
    """
    if text.startswith("+"):
        return timedelta(seconds=read_duration(text[1:], name))
    try:
        when = datetime.fromisoformat(text)
        # If there is no zone, astimezone() assumes local time.
        return (when if when.tzinfo else when.replace(tzinfo=zone)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        raise WrongUsage(
            f"{name}: {shown(text)} is not a time; allowed: ISO 8601 like 2030-01-31T12:00, or from now like +5m"
        ) from None


def ms_of(moment: str) -> int:
    """A time of the API in Unix milliseconds."""
    return round(datetime.fromisoformat(moment).timestamp() * 1000)


def show_time(unix_ms: int) -> str:
    """A time for people, in their zone; with the date only if it is not today."""
    local = datetime.fromtimestamp(unix_ms / 1000).astimezone()
    today = datetime.now().astimezone().date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M:%S")


def show_duration(duration_ms: float) -> str:
    """A duration for people: its two largest units, like ``350 ms``, ``12.3 s``, ``4m 10s``, ``2h 03m``, ``3d 04h``."""
    if duration_ms < 0:
        return f"-{show_duration(-duration_ms)}"
    if duration_ms < 1000:
        return f"{duration_ms:.0f} ms"
    seconds = duration_ms / 1000
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days}d {hour:02}h"
    return f"{hour}h {minute:02}m" if hour else f"{minute}m {second:02}s"


def show_taken(record: Record, now_ms: int) -> str:
    """How long an execution waits, runs or ran; for a scheduled one, when it is due."""
    if record.state is State.SCHEDULED:
        return "" if record.due_ms is None else f"in {show_duration(record.due_ms - now_ms)}"
    if record.ended:
        began, until = record.granted_ms or record.accepted_ms, record.ended_ms
    else:
        began, until = record.accepted_ms if record.state is State.PENDING else record.granted_ms, now_ms
    return "" if began is None or until is None else show_duration(until - began)

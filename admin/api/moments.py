"""Times as the API takes and gives them: RFC 3339 in UTC."""

import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime, BeforeValidator

from ...scheduler.engine.engine import Engine
from ...scheduler.events.fields import UtcTime
from ...scheduler.model.times import iso_of

_EARLIEST_MS: Final = 0
_LATEST_MS: Final = 253_402_300_799_999  # the end of the year 9999
_RFC_3339: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})"
)


def ms_of(moment: datetime | None) -> int | None:
    """Return a time in Unix milliseconds."""
    return None if moment is None else int(moment.timestamp() * 1000)


def shown_at(unix_ms: int) -> str:
    """Return a time that there is."""
    return iso_of(min(max(unix_ms, _EARLIEST_MS), _LATEST_MS)) or ""


def now_at(queue: Engine) -> str:
    """Return the time of the queue's server.

    Raises:
        QueueUnavailable: If it does not answer.
    """
    return shown_at(queue.views.server_time_ms())


def _as_text(moment: object) -> object:
    # Else numbers would be taken for seconds or milliseconds since 1970, whichever is nearer.
    if not isinstance(moment, str) or not _RFC_3339.fullmatch(moment):
        raise ValueError("a time of RFC 3339, like 2030-01-31T12:00:00Z")
    return moment


def _in_range(moment: datetime) -> datetime:
    if not _EARLIEST_MS <= moment.timestamp() * 1000 <= _LATEST_MS:
        raise ValueError("a time from 1970 to 9999")
    return moment


def _to_come(moment: datetime) -> datetime:
    if moment <= datetime.now(UTC):
        raise ValueError("a time that is not over yet")
    return moment


Moment = Annotated[AwareDatetime, BeforeValidator(_as_text), AfterValidator(_in_range)]
FutureMoment = Annotated[Moment, AfterValidator(_to_come)]
DueTime = Annotated[UtcTime, BeforeValidator(_as_text)]

"""Times as the API takes and gives them: RFC 3339 in UTC."""

from datetime import datetime
from typing import Annotated, Final

from pydantic import AfterValidator, AwareDatetime

from ...scheduler.model.times import iso_of

_EARLIEST_MS: Final = 0
_LATEST_MS: Final = 253_402_300_799_999  # the end of the year 9999


def ms_of(moment: datetime | None) -> int | None:
    """Return a time in Unix milliseconds."""
    return None if moment is None else int(moment.timestamp() * 1000)


def shown_at(unix_ms: int) -> str:
    """Return a time that there is."""
    return iso_of(min(max(unix_ms, _EARLIEST_MS), _LATEST_MS)) or ""


def _in_range(moment: datetime) -> datetime:
    if not _EARLIEST_MS <= moment.timestamp() * 1000 <= _LATEST_MS:
        raise ValueError("a time from 1970 to 9999")
    return moment


Moment = Annotated[AwareDatetime, AfterValidator(_in_range)]

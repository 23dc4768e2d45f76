"""``Cron``: when something is due again and again, by a line of cron in a time zone. Around `cronsim`, pure functions.

In the flow: schedules are checked with it where they enter, and whoever plans them asks for the next times. The rules
are those of Debian's cron. Sunday is 0 and 7. Where one of the two fields for days begins with a star, both have to
match; else one of them is enough. At the change of clocks a line with a fixed minute and hour fires once: at the
moment after the gap, if its time does not exist, and at the first of two. A line whose minute or hour begins with a
star follows real time.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice, pairwise
from typing import Final, Self
from zoneinfo import ZoneInfo

from cronsim import CronSim, CronSimError
from cronsim.cronsim import Field

from .errors import InvalidRequest, shown
from .timezones import check_timezone

LINE_MAX_CHARS: Final = 200
FIRST_SPAN_MS: Final = 3_600_000
SPAN_GROWS: Final = 8
_FIELDS: Final = (
    (Field.MINUTE, "minute", "0 to 59"),
    (Field.HOUR, "hour", "0 to 23"),
    (Field.DAY, "day of the month", "1 to 31, L for the last one, LW for the last weekday"),
    (Field.MONTH, "month", "1 to 12, JAN to DEC"),
    (
        Field.DOW,
        "day of the week",
        "0 to 7 or SUN to SAT (0 and 7 are Sunday), 5L for the last Friday, 1#2 for the second Monday",
    ),
)
_FORMS: Final = "also *, lists 1,2, ranges 1-5 and steps */5"
_NICKNAMES: Final = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}


@dataclass(frozen=True, slots=True)
class Cron:
    """A line of cron in a time zone."""

    line: str
    tz: str = "UTC"

    @classmethod
    def read(cls, line: object, tz: object = "UTC") -> Self:
        """Check a line and a zone.

        Raises:
            InvalidRequest: If one is not allowed, or the line never fires; the error names the part that is wrong.
        """
        cron = cls(check_line(line), check_timezone(tz))
        if next(cron.after(0), None) is None:
            raise _never(cron.line)
        return cron

    def after(self, unix_ms: int) -> Iterator[int]:
        """The times later than this one, in order and each once, in unix milliseconds.

        Raises:
            InvalidRequest: If it never fires.
        """
        try:
            begin = datetime.fromtimestamp(unix_ms // 1000, UTC).astimezone(ZoneInfo(self.tz))
            last_ms = unix_ms
            for at in CronSim(_NICKNAMES.get(self.line.lower(), self.line), begin):
                # Two times in a gap are both due after it; the second of two equal hours begins before it fires.
                at_ms = int(at.timestamp() * 1000)
                if at_ms > last_ms:
                    last_ms = at_ms
                    yield at_ms
        except OverflowError:  # the year 9999 is near
            return
        except CronSimError:
            raise _never(self.line) from None

    def between(self, after_ms: int, until_ms: int) -> Iterator[int]:
        """The times later than one moment and up to another."""
        for at_ms in self.after(after_ms):
            if at_ms > until_ms:
                return
            yield at_ms

    def last_between(self, after_ms: int, until_ms: int, most: int) -> list[int]:
        """The last `most` of these times, in order; the cost does not depend on how long ago the first moment is."""
        span_ms = FIRST_SPAN_MS
        while True:
            begin_ms = max(after_ms, until_ms - span_ms)
            found = list(self.between(begin_ms, until_ms))
            if len(found) >= most or begin_ms == after_ms:
                return found[-most:]
            span_ms *= SPAN_GROWS

    def shortest_gap_ms(self, after_ms: int, looks_at: int = 100) -> int | None:
        """The shortest time between two of the next; None if there are not two."""
        times = list(islice(self.after(after_ms), looks_at))
        return min((later - earlier for earlier, later in pairwise(times)), default=None)


def _never(line: str) -> InvalidRequest:
    return InvalidRequest("cron", f"{shown(line)} never fires", allowed="a line with a day that there is")


def check_line(value: object) -> str:
    """Return the value, with single blanks, if it may be a line of cron; else raise InvalidRequest, which names the
    field that is wrong and what may stand there.
    """
    if not isinstance(value, str) or len(value) > LINE_MAX_CHARS:
        raise InvalidRequest(
            "cron", f"{shown(value)} is no line of cron", allowed="five fields, like '30 6 * * MON-FRI'"
        )
    parts = value.split()
    if len(parts) == 1 and parts[0].startswith("@"):
        if parts[0].lower() not in _NICKNAMES:
            raise InvalidRequest("cron", f"{shown(value)} is not known", allowed=", ".join(_NICKNAMES))
        return parts[0].lower()
    if len(parts) != len(_FIELDS):
        raise InvalidRequest(
            "cron",
            f"{shown(value)} has {len(parts)} fields",
            allowed="five: minute, hour, day of the month, month, day of the week, like '30 6 * * MON-FRI'",
        )
    for part, (field, name, allowed) in zip(parts, _FIELDS, strict=True):
        try:
            field.parse(part.upper())
        except (CronSimError, ValueError, AssertionError):
            raise InvalidRequest("cron", f"{shown(part)} is no {name}", allowed=f"{allowed}; {_FORMS}") from None
    return " ".join(parts)

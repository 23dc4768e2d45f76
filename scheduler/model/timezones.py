"""The names of time zones, as the IANA's database has them. Nothing is stored here.

In the flow: schedules name one. The database is the system's, else that of the package `tzdata`.
"""

import zoneinfo
from difflib import get_close_matches
from functools import cache
from typing import Final

from .errors import SHOWN_CHARS, InvalidRequest, shown

_MOST_SHOWN: Final = 3


@cache
def _known() -> frozenset[str]:
    return frozenset(zoneinfo.available_timezones())


def check_timezone(value: object) -> str:
    """Return the value if it names a time zone; else raise InvalidRequest, with names that are similar."""
    if isinstance(value, str) and value in _known():
        return value
    raise InvalidRequest("tz", f"{shown(value)} is no time zone", allowed=_similar(value))


def _similar(value: object) -> str:
    named = value[:SHOWN_CHARS].casefold() if isinstance(value, str) else ""
    by_folded = {name.casefold(): name for name in sorted(_known())}
    # Cities are what people remember: `Berlin`, `new_york`, `new york`.
    wanted = named.replace(" ", "_")
    of_city = [name for folded, name in by_folded.items() if wanted and folded.rpartition("/")[2] == wanted]
    near = of_city or [by_folded[each] for each in get_close_matches(wanted, by_folded, _MOST_SHOWN, 0.7)]
    meant = " or ".join(near[:_MOST_SHOWN])
    return "a name like Europe/Berlin or UTC" + (f"; did you mean {meant}?" if meant else "")

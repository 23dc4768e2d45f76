"""Priorities as bands, and the score that orders waiting executions.

**Directions (defect D43).** Priority systems count in opposite directions. Here there is one table:

========== ==== =========== =====================================================
Priority   band starts      the same elsewhere
========== ==== =========== =====================================================
CRITICAL   0    first       "highest number first" systems: their highest
HIGH       1    second
NORMAL     2    third       the default
LOW        3    fourth
BACKGROUND 4    last        "highest number first" systems: their 0
========== ==== =========== =====================================================

The lower number starts first: in Redis, in Python and on the command line (JSON has the names). Dramatiq's own actor
`priority` has the same direction.

**Score.** ``floor(score) == band * 10**12 + unix_ms``. Unix milliseconds are already 1.8·10**12, so a band's scores do
not lie in the range that the formula suggests. Never count a band by ``band*10**12 … (band+1)*10**12`` (defect D1);
count it by ``band*10**12 + now ± 5*10**11``. The order is right all the same, since bands are 10**12 ms (31 years)
apart. The scripts compute scores, from Redis's clock.
"""

from difflib import get_close_matches
from enum import IntEnum
from typing import Final

from .errors import SHOWN_CHARS, InvalidRequest, shown

BAND_WIDTH_MS: Final = 10**12
"""Milliseconds between two bands (31.7 years)."""

HALF_BAND_MS: Final = 5 * 10**11
"""Half a band: a score belongs to the band whose "now" lies nearer than this."""


class Priority(IntEnum):
    """The band of an execution: the lower number starts first."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3
    BACKGROUND = 4

    @classmethod
    def parse(cls, value: object) -> "Priority":
        """The priority that a member, a name (in any case) or a band number means.

        Raises:
            InvalidRequest: If it is none of these.
        """
        if isinstance(value, cls):
            return value
        if isinstance(value, str):
            found = _BY_NAME.get(value.upper())
            if found is not None:
                return found
            near = get_close_matches(value[:SHOWN_CHARS].upper(), _BY_NAME, 1)
            meant = f"; {near[0]} is meant, perhaps" if near else ""
            raise InvalidRequest("priority", f"{shown(value)} is not a priority{meant}", allowed=ALLOWED)
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_BY_BAND):
            return _BY_BAND[value]
        raise InvalidRequest("priority", f"{shown(value)} is not a priority", allowed=ALLOWED)


_BY_NAME: Final = {member.name: member for member in Priority}
_BY_BAND: Final = tuple(Priority)
ALLOWED: Final = f"{', '.join(_BY_NAME)} (any case), or their bands 0 to {len(_BY_BAND) - 1}; 0 starts first"

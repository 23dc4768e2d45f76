"""``Rate``: how many grants a gate lets through in a time, such as ``100/m``.

In the flow: operators set rates, actors declare them, scripts measure them (`lua/include/rates.lua`). Pure functions.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Self

from .errors import InvalidRequest, shown

UNITS_MS: Final = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
BURST_MAX: Final = 1_000_000
COUNT_MAX: Final = 1_000_000
WINDOW_MAX_MS: Final = 366 * UNITS_MS["d"]
RATE: Final = re.compile(r"([0-9]{1,7})/([0-9]{0,9})(ms|s|m|h|d)(?: burst ([0-9]{1,7}))?")
"""How a user writes a rate."""
_ALLOWED: Final = (
    "N/TIME like 100/m, 5/s or 1/10s (units ms, s, m, h, d), with ` burst N` behind it if some may come at once"
)


@dataclass(frozen=True, slots=True)
class Rate:
    """At most `burst + t / interval` grants in any time t, with an interval of `window_ms / count`."""

    count: int
    window_ms: int
    burst: int = 1

    @classmethod
    def read(cls, text: object) -> Self:
        """Read a rate as a user writes it: `100/m`, `5/s`, `1/10s`, `100/m burst 10`.

        Raises:
            InvalidRequest: If it is none.
        """
        found = RATE.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidRequest("rate", f"{shown(text)} is not a rate", allowed=_ALLOWED)
        count, many, unit, burst = found.groups()
        rate = cls(int(count), int(many or 1) * UNITS_MS[unit], int(burst or 1))
        rate._check(shown(text))  # as it was given: 1/0s has no other form
        return rate

    @classmethod
    def of(cls, given: object) -> Self:
        """Return a rate that is given as one, or as a text; raises InvalidRequest if a gate may not have it."""
        if not isinstance(given, cls):
            return cls.read(given)
        given.check()
        return given

    def check(self) -> None:
        """Raise InvalidRequest unless a gate may have this rate."""
        self._check(f"{self.count}/{self.window_ms}ms")

    def _check(self, given: str) -> None:
        if not 1 <= self.count <= COUNT_MAX or not 1 <= self.window_ms <= WINDOW_MAX_MS:
            raise InvalidRequest("rate", f"{given} is not a rate", allowed=f"1 to {COUNT_MAX} in 1 ms to 366 d")
        if not 1 <= self.burst <= BURST_MAX:
            raise InvalidRequest("rate", f"{self.burst} is not a burst", allowed=f"1 to {BURST_MAX}")

    @property
    def interval_ms(self) -> float:
        """The milliseconds of one grant."""
        return self.window_ms / self.count

    def stored(self) -> str:
        """How the scripts read it: the interval in milliseconds, and the burst; behind them, count and window."""
        return f"{self.interval_ms:.17g} {self.burst} {self.count}/{self.window_ms}"

    @classmethod
    def from_stored(cls, text: str) -> Self:
        """Read what `stored` wrote."""
        _, burst, given = text.split()
        count, window_ms = given.split("/")
        return cls(int(count), int(window_ms), int(burst))

    def __str__(self) -> str:
        unit = next(unit for unit, ms in reversed(UNITS_MS.items()) if self.window_ms % ms == 0)
        many = self.window_ms // UNITS_MS[unit]
        return f"{self.count}/{'' if many == 1 else many}{unit}" + (f" burst {self.burst}" if self.burst > 1 else "")


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates of gates and kinds."""

    by_operators: Mapping[str, Rate] = field(default_factory=dict[str, Rate])
    """Set by operators; they go before declared ones."""
    declared: Mapping[str, Rate] = field(default_factory=dict[str, Rate])
    """The slowest that any lane declares."""


def readable(stored: str) -> str:
    """How a user writes a rate that `stored` wrote; as it stands, if it is none: the journal may be damaged."""
    try:
        return str(Rate.from_stored(stored))
    except ValueError:
        return stored

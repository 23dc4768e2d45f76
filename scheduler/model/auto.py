"""``Auto``: a limit that adjusts itself within bounds, `auto(2,50)`: additive increase, multiplicative decrease.

In the flow: operators set it for a gate, actors declare it. The limit in force is a number like any other, so
admission costs no more. `lua/include/attempts.lua` counts the ends of attempts in the transition that makes them, and
`lua/include/adjusting.lua` says what follows. Other executions' ends cost nothing more. Pure functions.

**A window** has as many counted ends as held the gate at most, ten at least, and takes a second at least. Then, once:

- more than a tenth of them failed, or the run time is more than twice the usual one: lowered to 0.7 of what was held;
- else if the gate was full while others waited, no more than one in twenty failed, and the run time is at most 1.5
  times the usual one: raised by one;
- else it stays. The bounds are never left.

**An end counts** if the attempt began since the limit was lowered last: so one overload lowers it once, however many
ends it makes, and a run time passes before it is lowered again. It is an error if the body raised (also if it is
tried again) or ran out of time, and if its pod failed. Nothing counts that says nothing of the load: what was
cancelled or removed, handed back, skipped, taken from a lost worker, failed for its infrastructure's sake, stopped
with its worker, or asked to be tried again (`Retry`).

**The run time** is the geometric mean of those that completed, which is their median where they spread as they mostly
do, and of which two sums are enough. The usual one is that of past windows: it falls half of the way at once, and
rises a thousandth. If it is as slow at the lower limit, or at the least, it is slow by itself, and that is usual from
then on.

Netflix's `concurrency-limits` is the model: its AIMD limit adds one while the limit is in use, and takes 0.9 of it at
a drop or timeout; its windows have ten samples at least; its gradient limit compares with an average
of long, since a minimum tends to become "impractically low" (the classes `AIMDLimit`, `WindowedLimit` and
`Gradient2Limit`). They are one process's; this is that of all workers together, and its 0.7 makes up for a window
that counts many ends at once.

**Faults.** There is no leader and no process that could die in the middle: an adjustment is part of the transition of
an end, and has no second effect if the call is repeated.

- *Clock back*: times that lie ahead are taken for now. An end that seems to come before its beginning counts, but not
  its run time.
- *Redis emptied*: a declared one begins again at its least; an operator's is set again from the ledger, with its last
  number.
- *The settings' hash lost*: the next call finds the gates by their figures, and marks them again.
- *Figures lost or damaged*: the limit stays as the number that it is.
- *An operator sets a number meanwhile*: scripts run one by one. From then on the gate adjusts no more, and its
  figures are gone.
"""

import re
from dataclasses import dataclass
from typing import Final, Self

from .errors import InvalidRequest, shown

BY: Final = "auto"
"""Under this name the journal has adjustments."""
AUTO_MAX: Final = 10**6
AUTO: Final = re.compile(r"auto\( ?([0-9]{1,7}) ?, ?([0-9]{1,7}) ?\)")
"""How a user writes it."""
_JOURNALLED: Final = re.compile(r"auto\(([0-9]+),([0-9]+)\), now ([0-9]+)(, declared)?(?:: .*)?", re.DOTALL)
_ALLOWED: Final = f"auto(LEAST,MOST) like auto(2,50), from 1 to {AUTO_MAX}, LEAST below MOST"
_READ, _FIELDS = 4, 14


@dataclass(frozen=True, slots=True)
class Auto:
    """A limit that adjusts itself from `least` to `most`."""

    least: int
    most: int
    start: int | None = None
    """With what it begins; None: the limit before, within the bounds, or `least` if there was none."""

    @classmethod
    def read(cls, text: object) -> Self:
        """Read it as a user writes it: `auto(2,50)`.

        Raises:
            InvalidRequest: If it is none.
        """
        found = AUTO.fullmatch(text) if isinstance(text, str) else None
        if found is None:
            raise InvalidRequest("limit", f"{shown(text)} is not a limit that adjusts itself", allowed=_ALLOWED)
        auto = cls(int(found[1]), int(found[2]))
        auto.check()
        return auto

    def check(self) -> None:
        """Raise InvalidRequest unless a gate may have these bounds."""
        if not 1 <= self.least < self.most <= AUTO_MAX:
            raise InvalidRequest("limit", f"{self} has no such bounds", allowed=_ALLOWED)

    def stored(self) -> str:
        """How the scripts read it."""
        return str(self) if self.start is None else f"{self} {self.start}"

    def __str__(self) -> str:
        return f"auto({self.least},{self.most})"


@dataclass(frozen=True, slots=True)
class Adjusted:
    """A limit that adjusts itself, and the number that is in force."""

    auto: Auto
    now: int
    is_declared: bool

    @classmethod
    def from_stored(cls, text: str) -> Self | None:
        """Read what the scripts keep of a gate; None if it is damaged."""
        fields = text.split()
        if len(fields) != _FIELDS or not all(field.isdecimal() for field in fields[:_READ]):
            return None
        least, most, now, is_declared = map(int, fields[:_READ])
        return cls(Auto(least, most), now, is_declared == 1)

    @classmethod
    def from_journal(cls, text: str) -> Self | None:
        """Read a limit of the journal, such as `auto(2,50), now 12: full`; None if it is another."""
        found = _JOURNALLED.fullmatch(text)
        return None if found is None else cls(Auto(int(found[1]), int(found[2])), int(found[3]), found[4] is not None)


def limit_in_force(text: str) -> int:
    """Return the number of a limit of the journal, or of a setting; what adjusts itself has one, too."""
    found = Adjusted.from_journal(text)
    return int(float(text)) if found is None else found.now

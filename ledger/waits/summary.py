"""Reads the sums of what executions waited for, over some hours: who waited longest, and behind what.

In the flow: the API and ``bandmaster waits`` ask here, in one transaction of `Asking.reading`. Whoever may not see a
name has what belongs to it among all others; so has what is too much for an answer. Nothing is lost of the sums.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from sqlalchemy import Column, ColumnElement, Connection, Table, func, select

from ..schema.tables import wait_counts, wait_sums
from .attributing import Cause
from .summed_by import By
from .sums import OTHERS, Count, hour_of

MOST_GROUPS: Final = 2_000
"""So many sums are told apart, the longest."""
MOST_NAMES: Final = 100
"""So many actions, users or gates, those that waited longest."""
MOST_PARTS: Final = 20
"""So many parts of each, the longest; and the rest, by cause."""


@dataclass(frozen=True, slots=True)
class SummedPart:
    """What one cause explains."""

    cause: Cause
    behind: str | None
    """The gate, `lane:NAME` or `*`; None: it has no name, or is one of others."""
    ms: int
    waits: int


@dataclass(frozen=True, slots=True)
class Summed:
    """What was waited for by an action, by a user's executions, or behind a gate."""

    name: str | None
    """None: by all others."""
    ms: int
    waits: int
    """How many ended; behind a gate, how many were held up by it."""
    summed: int
    """Of how many of these it is told."""
    parts: list[SummedPart]
    """The longest first. They sum to `ms`."""


@dataclass(frozen=True, slots=True)
class WaitSummary:
    """What was waited for in some hours."""

    since_ms: int
    until_ms: int
    counts: Count
    sums: list[Summed]
    """The longest first; all others at the end."""


def wait_summary(
    connection: Connection,
    by: By,
    since_ms: int,
    until_ms: int,
    *,
    only: str | None = None,
    sees: Callable[[str], bool] = lambda _: True,
) -> WaitSummary:
    """Read the sums of waits that ended in some hours.

    Args:
        connection: Of `Asking.reading`.
        by: What they are summed by.
        since_ms: From the hour on in which this time is.
        until_ms: Up to the hour in which it is.
        only: Of this name alone; None: of all.
        sees: Whether the name of a gate may be told.
    """
    begin_ms = hour_of(since_ms)
    within = (begin_ms, until_ms)
    counts = _counts(connection, By.ACTION if by is By.GATE else by, within, only)
    groups = _Groups(by, sees)
    of = wait_sums.c
    names = (of.name, of.cause, of.behind)
    asked = _asked(wait_sums, by, within, only)
    of_causes = select(of.cause, *_sums(of.ms, of.waits)).where(*asked).group_by(of.cause)
    # PostgreSQL sums whole numbers to decimal ones.
    causes: Any = connection.execute(of_causes).all()
    left = {cause: [int(ms), int(waits)] for cause, ms, waits in causes}
    longest = select(*names, *_sums(of.ms, of.waits)).where(*asked).group_by(*names)
    longest = longest.order_by(func.sum(of.ms).desc(), *names).limit(MOST_GROUPS)
    rows: Any = connection.execute(longest).all()
    for name, cause, behind, ms, waits in rows:
        groups.add(name, Cause(cause), behind, int(ms), int(waits))
        left[cause][0] -= int(ms)
        left[cause][1] -= int(waits)
    for cause, (ms, waits) in left.items():
        if ms or waits:
            groups.add(OTHERS, Cause(cause), "", ms, waits)
    return WaitSummary(
        begin_ms, until_ms, _whole(counts.values()), groups.summed(counts if by is not By.GATE else None)
    )


@dataclass(slots=True)
class _Groups:
    """Sums by name, then by cause and what is behind."""

    by: By
    sees: Callable[[str], bool]
    of: defaultdict[str, dict[tuple[Cause, str], list[int]]] = field(default_factory=lambda: defaultdict(dict))

    def add(self, name: str, cause: Cause, behind: str, ms: int, waits: int) -> None:
        if self.by is By.GATE and name and not self.sees(name):
            name = OTHERS
        if behind and not self.sees(behind):
            behind = ""
        there = self.of[name].setdefault((cause, behind), [0, 0])
        there[0] += ms
        there[1] += waits

    def summed(self, counts: dict[str, Count] | None) -> list[Summed]:
        lengths = {name: sum(ms for ms, _ in parts.values()) for name, parts in self.of.items()}
        for name in counts or ():
            lengths.setdefault(name, 0)
        in_order = sorted((name for name in lengths if name != OTHERS), key=lambda name: (-lengths[name], name))
        told, rest = in_order[:MOST_NAMES], [*in_order[MOST_NAMES:], *([OTHERS] if OTHERS in lengths else [])]
        found = [self._one(name, [name], counts) for name in told]
        return [*found, self._one(None, rest, counts)] if rest else found

    def _one(self, shown: str | None, names: list[str], counts: dict[str, Count] | None) -> Summed:
        ms, waits = Counter[tuple[Cause, str]](), Counter[tuple[Cause, str]]()
        for name in names:
            for key, values in self.of.get(name, {}).items():
                ms[key] += values[0]
                waits[key] += values[1]
        longest = sorted(ms, key=lambda key: (-ms[key], key))
        for cause, behind in longest[MOST_PARTS:]:
            ms[cause, ""] += ms.pop((cause, behind)) if behind else 0
            waits[cause, ""] += waits.pop((cause, behind)) if behind else 0
        parts = [SummedPart(key[0], key[1] or None, ms[key], waits[key]) for key in ms]
        parts.sort(key=lambda part: (-part.ms, part.cause, part.behind or ""))
        whole = sum(ms.values())
        if counts is None:
            behind_it = sum(waits.values())
            return Summed(shown, whole, behind_it, behind_it, parts)
        of = [counts[name] for name in names if name in counts]
        return Summed(shown, whole, sum(each.waits for each in of), sum(each.summed for each in of), parts)


def _counts(connection: Connection, by: By, within: tuple[int, int], only: str | None) -> dict[str, Count]:
    of = wait_counts.c
    query = select(of.name, *_sums(of.waits, of.summed, of.sampled, of.incomplete))
    query = query.where(*_asked(wait_counts, by, within, only)).group_by(of.name)
    rows: Any = connection.execute(query).all()
    return {name: Count(*map(int, values)) for name, *values in rows}


def _asked(table: Table, by: By, within: tuple[int, int], only: str | None) -> list[ColumnElement[bool]]:
    of = table.c
    found = [of.by_what == by, of.hour_ms >= within[0], of.hour_ms < within[1]]
    return found if only is None else [*found, of.name == only]


def _sums(*columns: Column[Any]) -> list[ColumnElement[Any]]:
    return [func.sum(column) for column in columns]


def _whole(counts: Iterable[Count]) -> Count:
    whole = Count()
    for each in counts:
        whole.waits += each.waits
        whole.summed += each.summed
        whole.sampled += each.sampled
        whole.incomplete += each.incomplete
    return whole

"""Reads the rates of an execution's gates during a wait, and when they kept a gate closed.

In the flow: `hindrances.py` says which gates had a rate, `telling.py` asks when it closed them. Whoever holds a gate
was granted when the hold began. Few grants before the wait are enough mostly: as many as come at once, or a few more.
What a rebuild gave back counts as if it were granted then; Redis looks at the gate when the wait begins, so that makes
a difference of one interval at most. Nothing here writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection, select

from ...scheduler.model.limits import kind_of
from ...scheduler.model.rates import Rate, Rates
from ..schema.tables import holds
from .attributing import Step
from .changing import RATES, READ_AT_ONCE, Changes
from .limits import first_steps, is_ever_limited, rate_of, steps_of
from .rate_times import Kept, kept_closed
from .spans import Span

GRANTS_BEFORE: Final = 1_000
"""So many grants before a wait are read at most."""
GRANTS_OF_MOMENT: Final = 100
"""So many before one moment."""
_NO_RATE: Final = 0


@dataclass(frozen=True, slots=True)
class Rated:
    """A gate that had a rate at some time of a wait."""

    gate: str
    steps: Sequence[Step[Rate]]

    @property
    def burst(self) -> int:
        """How many could come at once, at most."""
        return max(_NO_RATE if step.value is None else step.value.burst for step in self.steps)


def rated_during(changes: Changes, gates: Sequence[str], wait: Span, now: Rates) -> list[Rated]:
    """Return those of some gates that had a rate within a wait, with the rate that held for each, as for limits.

    Args:
        changes: Of these gates and their kinds, around that wait.
        gates: In the order in which admission checks them.
        wait: From when to when.
        now: The rates now.
    """

    def steps(name: str) -> list[Step[Rate]]:
        return steps_of(changes.of(name, RATES), wait, now.by_operators.get(name), rate_of)

    found: list[Rated] = []
    for gate in gates:
        kind = kind_of(gate)
        of_kind, declared_of_kind = ([], None) if kind is None else (steps(kind), now.declared.get(kind))
        found.append(Rated(gate, first_steps(steps(gate), now.declared.get(gate), of_kind, declared_of_kind)))
    return [each for each in found if is_ever_limited(each.steps)]


def grants_of_moment(rated: Rated) -> int:
    """So many grants are read to know of one moment, at most."""
    return min(2 * rated.burst, GRANTS_OF_MOMENT)


class Grants:
    """The grants through one gate that had a rate."""

    def __init__(self, connection: Connection, rated: Rated, now: Rates) -> None:
        self._connection, self._rated, self._now = connection, rated, now
        self.rows = 0
        """How many were read."""

    def kept_closed(self, wait: Span, most: int) -> Kept | None:
        """When the rate kept the gate closed; None if there are too many grants to know.

        Args:
            wait: From when to when.
            most: So many rows may be read.
        """
        within = self._read(holds.c.since_ms >= wait.since_ms, holds.c.since_ms < wait.until_ms, most=most + 1)
        if len(within) > most:
            return None
        kept = None
        for count in (2 * self._rated.burst, GRANTS_BEFORE):
            count = min(count, GRANTS_BEFORE, most - self.rows - 2 * READ_AT_ONCE)
            if count <= 0 or (kept is not None and kept.is_exact):
                break
            before = self._read(holds.c.since_ms < wait.since_ms, most=count)
            steps = self._steps(Span(before[-1] if before else wait.since_ms, wait.until_ms))
            kept = kept_closed(steps, [*before, *within], wait, are_all=len(before) < count)
        return kept

    def is_closed_at(self, at_ms: int) -> bool:
        """Whether the rate kept the gate closed at a moment of the wait, as far as the latest grants tell."""
        count = grants_of_moment(self._rated)
        before = self._read(holds.c.since_ms <= at_ms, most=count)
        # What the rate was before the wait is not asked at each moment.
        first, *later = self._rated.steps
        steps = [Step(min(first.at_ms, *before[-1:], at_ms), first.value), *later]
        return bool(kept_closed(steps, before, Span(at_ms, at_ms + 1), are_all=len(before) < count).spans)

    def _steps(self, span: Span) -> list[Step[Rate]]:
        gate = self._rated.gate
        changes = Changes(self._connection, [gate, *filter(None, [kind_of(gate)])], span)
        found = rated_during(changes, [gate], span, self._now)
        self.rows += changes.rows
        return list(found[0].steps) if found else []

    def _read(self, *conditions: ColumnElement[bool], most: int) -> list[int]:
        """The latest first."""
        of = holds.c
        query = select(of.since_ms).where(of.gate == self._rated.gate, *conditions)
        found = list(self._connection.execute(query.order_by(of.since_ms.desc()).limit(most)).scalars())
        self.rows += len(found)
        return found

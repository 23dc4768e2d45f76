"""What could have held an execution up during a wait: pauses, rates, and limits of its gates, its lane and everything.

In the flow: `telling.py` asks for each wait, and reads who held what had a limit. The order is that of admission:
everything, the lane and the gates for pauses; the gates as `Execution.all_gates` has them, the lane, everything for
limits. Nothing here writes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import ColumnElement, Connection

from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.auto import limit_in_force
from ...scheduler.model.limits import EVERYTHING, kind_of
from ..executions import Execution
from .attributing import Cause, Pause, Step
from .changing import LIMITS, PAUSES, SETTINGS, Changes
from .holding import LANES, RANGES, of_gate, of_lanes
from .in_force import InForce
from .limits import gate_steps, is_ever_limited, pauses_of, steps_of
from .rated import Rated, rated_during
from .spans import Span

_LANE_BOUND: Final = "max_concurrent_executions"
_OVER_EVERYTHING: Final = "max_concurrent"


@dataclass(frozen=True, slots=True)
class Limited:
    """What had a limit at some time of a wait."""

    cause: Cause
    name: str
    steps: Sequence[Step[int]]
    of: ColumnElement[bool]
    """The holds that count for it."""
    ranges: int = RANGES
    """In so many ranges of an index they are sought."""


class Hindrances:
    """Those of one wait."""

    def __init__(self, connection: Connection, row: Execution, now: InForce, wait: Span) -> None:
        """Reads what was changed around it.

        Args:
            connection: Of `Asking.reading`.
            row: The execution that waited.
            now: What holds now.
            wait: From when to when it waited.
        """
        self._row, self._now, self._wait = row, now, wait
        self._gates = row.all_gates
        self._paused = [EVERYTHING, f"lane:{row.lane}", *self._gates]
        self._lane_bound = _LANE_BOUND if row.lane == DEFAULT_LANE else f"lane:{row.lane}:{_LANE_BOUND}"
        self._kinds = sorted({kind for gate in self._gates if (kind := kind_of(gate)) is not None})
        names = dict.fromkeys([*self._paused, *self._kinds, self._lane_bound, _OVER_EVERYTHING])
        self.changes: Final = Changes(connection, list(names), wait)
        self._are_all_lanes = True

    @property
    def are_all(self) -> bool:
        """Whether nothing was left out: no change, and no lane of those that count for the limit over everything."""
        return self.changes.are_all and self._are_all_lanes

    def pauses(self) -> list[Pause]:
        """Those of everything, its lane and its gates."""
        return [
            Pause(name, pauses_of(self.changes.of(name, PAUSES), self._wait, self._now.paused.get(name)))
            for name in self._paused
        ]

    def rated(self) -> list[Rated]:
        """Its gates, as far as they had a rate."""
        return rated_during(self.changes, self._gates, self._wait, self._now.rates)

    def limited(self) -> list[Limited]:
        """Its gates, its lane and everything, as far as they had a limit."""
        lane, now = self._row.lane, self._now
        by_operators = now.limits.by_operators
        # Gates of one kind share its changes.
        of_kinds = {kind: self._limit_steps(kind, by_operators.get(kind)) for kind in self._kinds}
        found: list[Limited] = []
        for gate in self._gates:
            own, kind = self._limit_steps(gate, by_operators.get(gate)), kind_of(gate)
            steps = gate_steps(gate, own, [] if kind is None else of_kinds[kind], now.limits)
            found.append(Limited(Cause.GATE, gate, steps, of_gate(gate)))
        steps = self._setting_steps(self._lane_bound, now.lane_bound)
        found.append(Limited(Cause.LANE, lane, steps, of_lanes([lane])))
        steps = self._setting_steps(_OVER_EVERYTHING, now.max_concurrent)
        lanes = now.lanes[:LANES]
        found.append(Limited(Cause.EVERYTHING, "", steps, of_lanes(lanes), RANGES * len(lanes)))
        self._are_all_lanes = len(now.lanes) <= LANES or not is_ever_limited(steps)
        return [each for each in found if is_ever_limited(each.steps)]

    def _limit_steps(self, name: str, now: int | None) -> list[Step[int]]:
        return steps_of(self.changes.of(name, LIMITS), self._wait, now, limit_in_force)

    def _setting_steps(self, name: str, now: int | None) -> list[Step[int]]:
        return steps_of(self.changes.of(name, SETTINGS), self._wait, now, limit_in_force)

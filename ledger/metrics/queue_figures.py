"""What Redis says of the queue at this moment: how many wait and run, since when, behind which gates.

In the flow: each scrape reads it anew. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...scheduler.ages import Ages, LaneAges
from ...scheduler.engine.engine import Engine
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.overview import GateLoad, Overview
from ...scheduler.transport.reading import Reader, repeated
from ...scheduler.views import QueueStatus


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue at one moment."""

    lanes: list[QueueStatus]
    """The lane of events first, then the others that were ever used."""
    ages: list[LaneAges]
    """Of the same lanes, in order."""
    gates: list[GateLoad]
    journal_entries: int
    leads: bool
    """Whether a scheduler process leads."""


class QueueReading(Reader):
    """Reads the figures of one queue. Safe to share between threads."""

    def __init__(self, engine: Engine, gates: int) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            gates: How many gates are told: the fullest, and as many of those behind which most wait.
        """
        super().__init__(engine.scripts)
        self._engine = engine
        self._overview = Overview(engine.scripts, engine.controls)
        self._ages = Ages(engine.scripts)
        self._gates = gates

    def read(self) -> QueueFigures:
        """Read them.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        others = [load.lane for load in self._overview.lanes() if load.lane != DEFAULT_LANE]
        lanes = self._engine.views.status_of([DEFAULT_LANE, *others])
        return QueueFigures(
            lanes=lanes,
            ages=self._ages.of(lanes),
            gates=_foremost(self._overview.gates(), self._gates) if self._gates else [],
            journal_entries=self._journal_entries(),
            leads=self._engine.views.leader() is not None,
        )

    @repeated
    def _journal_entries(self) -> int:
        return self._client.xlen(self._scripts.keys.named("journal"))


def _foremost(loads: Sequence[GateLoad], number: int) -> list[GateLoad]:
    gates = [load for load in loads if load.held is not None]
    limited = [load for load in gates if load.limit is not None]
    full = sorted(limited, key=lambda load: (-(load.held or 0) / max(1, load.limit or 0), load.gate))[:number]
    waiting = sorted((load for load in gates if load.waiting), key=lambda load: (-load.waiting, load.gate))[:number]
    return list({load.gate: load for load in (*full, *waiting)}.values())

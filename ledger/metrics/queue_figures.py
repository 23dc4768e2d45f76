"""What Redis says of the queue at this moment: how many wait and run, since when, behind which gates.

In the flow: each scrape reads it anew. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ...scheduler.engine.engine import Engine
from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.priority import BAND_WIDTH_MS, HALF_BAND_MS, Priority
from ...scheduler.overview import GateLoad, Overview
from ...scheduler.transport.reading import Reader, repeated
from ...scheduler.views import QueueStatus


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue at one moment."""

    lanes: list[QueueStatus]
    """The lane of events first, then the others that were ever used."""
    oldest_ms: dict[str, int]
    """By lane: how long the one that waits longest has waited; 0: none waits."""
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
        self._gates = gates

    def read(self) -> QueueFigures:
        """Read them.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        others = [load.lane for load in self._overview.lanes() if load.lane != DEFAULT_LANE]
        lanes = [DEFAULT_LANE, *others]
        return QueueFigures(
            lanes=self._engine.views.status_of(lanes),
            oldest_ms=self._oldest_ms(lanes),
            gates=_foremost(self._overview.gates(), self._gates) if self._gates else [],
            journal_entries=self._journal_entries(),
            leads=self._engine.views.leader() is not None,
        )

    @repeated
    def _journal_entries(self) -> int:
        return self._client.xlen(self._scripts.keys.named("journal"))

    @repeated
    def _oldest_ms(self, lanes: Sequence[str]) -> dict[str, int]:
        """The first of each band is its oldest; the oldest of these is the lane's."""
        now_ms = self._engine.views.server_time_ms()
        pipeline = self._client.pipeline(transaction=False)
        for lane in lanes:
            for band in Priority:
                middle = band * BAND_WIDTH_MS + now_ms
                bounds = (middle - HALF_BAND_MS, middle + HALF_BAND_MS)
                pipeline.zrangebyscore(self._scripts.keys.pending(lane), *bounds, start=0, num=1, withscores=True)
        found = pipeline.execute()
        oldest = dict.fromkeys(lanes, 0)
        for number, first in enumerate(found):
            lane, band = lanes[number // len(Priority)], number % len(Priority)
            for _, score in first:
                oldest[lane] = max(oldest[lane], int(now_ms - (score - band * BAND_WIDTH_MS)))
        return oldest


def _foremost(loads: Sequence[GateLoad], number: int) -> list[GateLoad]:
    gates = [load for load in loads if load.held is not None]
    limited = [load for load in gates if load.limit is not None]
    full = sorted(limited, key=lambda load: (-(load.held or 0) / max(1, load.limit or 0), load.gate))[:number]
    waiting = sorted((load for load in gates if load.waiting), key=lambda load: (-load.waiting, load.gate))[:number]
    return list({load.gate: load for load in (*full, *waiting)}.values())

"""What Redis says of the queue at this moment: how many wait and run, since when, behind which gates, by whom.

In the flow: each scrape reads it anew. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ages import Ages, LaneAges
from ..engine.engine import Engine
from ..keys import DEFAULT_LANE
from ..model.limits import EVERYTHING
from ..model.priority import BAND_WIDTH_MS, HALF_BAND_MS, Priority
from ..overview import ActionLoad, GateLoad, Overview
from ..transport.reading import Reader, repeated
from ..views import QueueStatus
from ..workers import Workers, WorkerSigned
from .buckets import BOUNDARIES_MS


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue at one moment."""

    lanes: list[QueueStatus]
    """The lane of events first, then the others that were ever used."""
    ages: dict[str, LaneAges]
    """By lane."""
    waited_up_to: dict[str, list[int]]
    """By lane: how many have waited no longer than each of the boundaries, and, last, how many wait."""
    untold: dict[str, int]
    """By lane: how many ends are not reported to their senders yet."""
    gates: list[GateLoad]
    """The foremost."""
    paused: dict[str, bool]
    """Whether everything, each lane and each gate of `gates` is; besides, other gates and kinds that are paused."""
    actions: list[ActionLoad]
    """Those of which most were accepted, with the lifetime totals that Redis keeps until an operator drops them."""
    workers: list[WorkerSigned]
    with_pods: int
    """Executions that were handed over to a pod, and have not ended."""
    journal_entries: int
    leads: bool
    """Whether a scheduler process leads."""


class QueueReading(Reader):
    """Reads the figures of one queue. Safe to share between threads."""

    def __init__(self, engine: Engine, gates: int) -> None:
        """Makes no call.

        Args:
            engine: The queue.
            gates: How many gates are told: the fullest, and as many of those behind which most wait. As many actions.
        """
        super().__init__(engine.scripts)
        self._engine = engine
        self._overview = Overview(engine.scripts, engine.controls)
        self._ages = Ages(engine.scripts)
        self._workers = Workers(engine.scripts)
        self._gates = gates

    def read(self) -> QueueFigures:
        """Read them.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        others = [lane for lane in self._overview.lane_names() if lane != DEFAULT_LANE]
        lanes = [DEFAULT_LANE, *others]
        statuses = self._engine.views.status_of(lanes)
        foremost = _foremost(self._overview.gates(), self._gates) if self._gates else []
        untold, (with_pods, journal_entries) = self._counts(lanes)
        return QueueFigures(
            lanes=statuses,
            ages=dict(zip(lanes, self._ages.of(statuses), strict=True)),
            waited_up_to=self._waited_up_to(statuses),
            untold=untold,
            gates=foremost,
            paused=_pauses(lanes, foremost, set(self._engine.controls.paused()), self._gates),
            actions=_largest(self._overview.actions(), self._gates) if self._gates else [],
            workers=self._workers.alive(),
            with_pods=with_pods,
            journal_entries=journal_entries,
            leads=self._engine.views.leader() is not None,
        )

    @repeated
    def _counts(self, lanes: Sequence[str]) -> tuple[dict[str, int], tuple[int, int]]:
        pipeline, keys = self._client.pipeline(transaction=False), self._scripts.keys
        for lane in lanes:
            pipeline.zcard(keys.outbox(lane))
        pipeline.zcard(keys.named("lease:pods"))
        pipeline.xlen(keys.named("journal"))
        *untold, with_pods, journal_entries = pipeline.execute()
        return dict(zip(lanes, untold, strict=True)), (with_pods, journal_entries)

    @repeated
    def _waited_up_to(self, lanes: Sequence[QueueStatus]) -> dict[str, list[int]]:
        """Asks only of bands in which something waited just now."""
        now_ms = self._engine.views.server_time_ms()
        waiting = [(lane.lane, band) for lane in lanes for band in Priority if lane.pending_by_priority[band.name]]
        pipeline = self._client.pipeline(transaction=False)
        for lane, band in waiting:
            now_score = band * BAND_WIDTH_MS + now_ms
            for age_ms in (*BOUNDARIES_MS, HALF_BAND_MS):
                pipeline.zcount(self._scripts.keys.pending(lane), now_score - age_ms, f"({now_score + HALF_BAND_MS}")
        found: list[Any] = pipeline.execute()
        number = len(BOUNDARIES_MS) + 1
        counts = {lane.lane: [0] * number for lane in lanes}
        for at, (lane, _) in enumerate(waiting):
            of_band = _rising(found[at * number : (at + 1) * number])
            counts[lane] = [sum(both) for both in zip(counts[lane], of_band, strict=True)]
        return counts


def _rising(counts: Sequence[int]) -> list[int]:
    """Counts of growing sets never fall, but these were read one after another, and work goes on."""
    most = 0
    return [most := max(most, count) for count in counts]


def _foremost(loads: Sequence[GateLoad], number: int) -> list[GateLoad]:
    gates = [load for load in loads if load.held is not None]
    limited = [load for load in gates if load.limit is not None]
    full = sorted(limited, key=lambda load: (-(load.held or 0) / max(1, load.limit or 0), load.gate))[:number]
    waiting = sorted((load for load in gates if load.waiting), key=lambda load: (-load.waiting, load.gate))[:number]
    return list({load.gate: load for load in (*full, *waiting)}.values())


def _largest(loads: Sequence[ActionLoad], number: int) -> list[ActionLoad]:
    return sorted(loads, key=lambda load: (-load.total_enqueued, load.action))[:number]


def _pauses(lanes: Sequence[str], foremost: Sequence[GateLoad], paused: set[str], number: int) -> dict[str, bool]:
    always = (EVERYTHING, *(f"lane:{lane}" for lane in lanes), *(load.gate for load in foremost))
    others = sorted(paused.difference(always))[:number]
    return {name: name in paused for name in (*always, *others)}

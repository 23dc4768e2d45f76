"""What Redis says of the queue at this moment: how many wait and run, since when, behind which gates, by whom.

In the flow: each scrape reads it anew. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

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
class Ages:
    """For how long those that wait in one lane have waited."""

    oldest_ms: int
    """How long the one that waits longest has waited; 0: none waits."""
    up_to: tuple[int, ...]
    """How many have waited no longer than each of the boundaries, and, last, how many wait."""


@dataclass(frozen=True, slots=True)
class QueueFigures:
    """The queue at one moment."""

    lanes: list[QueueStatus]
    """The lane of events first, then the others that were ever used."""
    ages: dict[str, Ages]
    """By lane."""
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
        self._workers = Workers(engine.scripts)
        self._gates = gates

    def read(self) -> QueueFigures:
        """Read them.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        others = [lane for lane in self._overview.lane_names() if lane != DEFAULT_LANE]
        lanes = [DEFAULT_LANE, *others]
        foremost = _foremost(self._overview.gates(), self._gates) if self._gates else []
        untold, (with_pods, journal_entries) = self._counts(lanes)
        return QueueFigures(
            lanes=self._engine.views.status_of(lanes),
            ages=self._ages(lanes),
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
    def _ages(self, lanes: Sequence[str]) -> dict[str, Ages]:
        """The first of each band is its oldest; the oldest of these is the lane's. Where none waits, that is all."""
        now_ms = self._engine.views.server_time_ms()
        pipeline = self._client.pipeline(transaction=False)
        each = [(lane, band * BAND_WIDTH_MS + now_ms) for lane in lanes for band in Priority]
        for lane, now_score in each:
            bounds = (now_score - HALF_BAND_MS, now_score + HALF_BAND_MS)
            pipeline.zrangebyscore(self._scripts.keys.pending(lane), *bounds, start=0, num=1, withscores=True)
        firsts = pipeline.execute()
        oldest, counts = dict.fromkeys(lanes, 0), {lane: [0] * (len(BOUNDARIES_MS) + 1) for lane in lanes}
        waited = [(lane, now_score) for (lane, now_score), first in zip(each, firsts, strict=True) if first]
        for (lane, now_score), first in zip(each, firsts, strict=True):
            oldest[lane] = max(oldest[lane], *(int(now_score - score) for _, score in first), 0)
        for (lane, _), of_band in zip(waited, self._up_to(waited), strict=True):
            counts[lane] = [sum(both) for both in zip(counts[lane], of_band, strict=True)]
        return {lane: Ages(oldest[lane], tuple(counts[lane])) for lane in lanes}

    def _up_to(self, waited: Sequence[tuple[str, float]]) -> list[list[int]]:
        """Of each lane and band how many have waited no longer than each of the boundaries, and how many wait."""
        pipeline = self._client.pipeline(transaction=False)
        for lane, now_score in waited:
            for age_ms in (*BOUNDARIES_MS, HALF_BAND_MS):
                pipeline.zcount(self._scripts.keys.pending(lane), now_score - age_ms, f"({now_score + HALF_BAND_MS}")
        found: list[Any] = pipeline.execute()
        number = len(BOUNDARIES_MS) + 1
        return [_rising(found[start : start + number]) for start in range(0, len(found), number)]


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

"""What Redis says of the queue at this moment: how many wait and run, since when, behind which gates, by whom.

In the flow: each scrape reads it anew. Reads only.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..ages import Ages, LaneAges
from ..engine.engine import Engine
from ..gate_loads import ASKED_AGAIN_MS, GateLoad, GateLoads
from ..keys import DEFAULT_LANE, fair_field, fair_kind
from ..model.limits import EVERYTHING
from ..model.priority import BAND_WIDTH_MS, HALF_BAND_MS, Priority
from ..overview import ActionLoad, Overview
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
    closed_by_rate: dict[str, int]
    """By lane: how many gates their rate keeps closed to something that waits there."""
    fair_keys: dict[str, dict[str, int]]
    """By lane that is fair, by band: how many users, or gates of its kind, have something waiting there."""
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
        self._overview = Overview(engine.scripts)
        self._loads = GateLoads(engine, self._overview)
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
        foremost = _foremost(self._loads.all(), self._gates) if self._gates else []
        untold, (with_pods, journal_entries) = self._counts(lanes)
        return QueueFigures(
            lanes=statuses,
            ages=dict(zip(lanes, self._ages.of(statuses), strict=True)),
            waited_up_to=self._waited_up_to(statuses),
            untold=untold,
            closed_by_rate=self._closed_by_rate(lanes),
            fair_keys=self._fair_keys(lanes),
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
    def _closed_by_rate(self, lanes: Sequence[str]) -> dict[str, int]:
        since_ms, keys = self._engine.views.server_time_ms() - ASKED_AGAIN_MS, self._scripts.keys
        counts = self._read([("ZCOUNT", keys.later(lane), str(since_ms), "+inf") for lane in lanes])
        return dict(zip(lanes, counts, strict=True))

    @repeated
    def _fair_keys(self, lanes: Sequence[str]) -> dict[str, dict[str, int]]:
        fair, keys = sorted(self._fair_among(lanes)), self._scripts.keys
        sizes = iter(self._read([("HLEN", keys.tags(lane, band)) for lane in fair for band in Priority]))
        # The hash has one field that is no key's.
        return {lane: {band.name: max(0, next(sizes) - 1) for band in Priority} for lane in fair}

    @repeated
    def _waited_up_to(self, lanes: Sequence[QueueStatus]) -> dict[str, list[int]]:
        """Asks only of bands in which something waited just now."""
        now_ms = self._engine.views.server_time_ms()
        keys, fair = self._scripts.keys, self._fair_among([lane.lane for lane in lanes])
        # Of a fair lane the index of times, since its scores are tags: all bands at once.
        waiting = [(keys.times(lane.lane), lane.lane, 0) for lane in lanes if lane.queue_depth and lane.lane in fair]
        waiting += [
            (keys.pending(lane.lane), lane.lane, int(band))
            for lane in lanes
            for band in Priority
            if lane.lane not in fair and lane.pending_by_priority[band.name]
        ]
        pipeline = self._client.pipeline(transaction=False)
        for key, _, band in waiting:
            now_score = band * BAND_WIDTH_MS + now_ms
            for age_ms in (*BOUNDARIES_MS, HALF_BAND_MS):
                pipeline.zcount(key, now_score - age_ms, f"({now_score + HALF_BAND_MS}")
        found: list[Any] = pipeline.execute()
        number = len(BOUNDARIES_MS) + 1
        counts = {lane.lane: [0] * number for lane in lanes}
        for at, (_, lane, _) in enumerate(waiting):
            of_band = _rising(found[at * number : (at + 1) * number])
            counts[lane] = [sum(both) for both in zip(counts[lane], of_band, strict=True)]
        return counts

    @repeated
    def _fair_among(self, lanes: Sequence[str]) -> set[str]:
        fields = [fair_field(lane) for lane in lanes]
        kinds = self._client.hmget(self._scripts.keys.named("settings"), fields)
        return {lane for lane, kind in zip(lanes, kinds, strict=True) if fair_kind(kind) is not None}


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

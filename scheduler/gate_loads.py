"""Read-only figures of gates: who holds them, what waits behind them, and which limit, rate, weight or pause each has.

In the flow: the command line, the API and the metrics show them; nothing here changes anything. Many gates are read in
a few round trips, not in one moment: figures of a busy queue may be some milliseconds apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .engine.engine import Engine
from .engine.rate_controls import RateInForce
from .engine.shares import UNWEIGHED
from .flows import READ_A_TRIP, count_in
from .model.auto import Auto
from .model.limits import EVERYTHING, Limits, is_kind, kind_of
from .overview import Overview
from .transport.reading import Reader, repeated

ASKED_AGAIN_MS: Final = 1_000
"""A gate whose rate would let the next one through for longer than this is held back by something else: whoever is idle
asks again after so long."""
_LANE: Final = "lane:"


@dataclass(frozen=True, slots=True)
class GateLoad:
    """The load of a gate or kind with a limit, a rate, a weight or a pause, of a paused lane, or of everything while it
    is paused."""

    gate: str
    """The name of a gate, or of a kind, such as `tenant:*`; `lane:NAME` for a lane, `*` for everything."""
    held: int | None
    """None for a kind: each of its gates has its own count."""
    limit: int | None
    waiting: int
    """Executions of flows that found the gate closed; flows that never came to the head of their lane are not counted.
    For a lane and for everything: all that wait."""
    paused: bool
    limited_by: str | None = None
    """The gate or kind that the limit was set for."""
    declared: bool = False
    """Whether an actor declared the limit; else an operator set it."""
    auto: Auto | None = None
    """The bounds within which the limit adjusts itself, if it does."""
    rate: RateInForce | None = None
    opens_in_ms: int | None = None
    """When its rate lets the next one of those that wait through; None: it keeps none back."""
    weight: int = UNWEIGHED
    """In fair lanes."""

    @property
    def room(self) -> float:
        """How many more executions the gate lets through, as far as limit and pause say."""
        if self.paused:
            return 0
        if self.limit is None:
            return float("inf")
        return max(0, self.limit - (self.held or 0))


class GateLoads(Reader):
    """Reads the loads from one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, engine: Engine, overview: Overview) -> None:
        """Args: `overview`, which knows the lanes."""
        super().__init__(engine.scripts)
        self._keys = engine.scripts.keys
        self._controls = engine.controls
        self._shares = engine.shares
        self._overview = overview

    def all(self) -> list[GateLoad]:
        """The loads of all gates and kinds with a limit, a rate, a weight or a pause of their own, of gates that the
        limit or rate of their kind keeps closed, of paused lanes, and of everything if it is paused; those with the
        most waiting executions first."""
        known = self._known()
        stopped = {name for name in known.paused if name == EVERYTHING or name.startswith(_LANE)}
        names = known.limits.names() | known.rates.keys() | known.weights.keys()
        kinds = sorted(filter(is_kind, names))
        gates = {name for name in names if not is_kind(name)} | (known.paused - stopped) | self._closed(kinds)
        found = self._all_loads(sorted(gates), known)
        for kind in kinds:
            behind = [load.waiting for load in found if kind in (load.limited_by, load.rate and load.rate.name)]
            found.append(known.load(kind, None, sum(behind)))
        found += self._stopped(stopped)
        return sorted(found, key=lambda one: (-one.waiting, one.room, one.gate))

    def limited(self, gates: list[str] | None = None) -> list[GateLoad]:
        """These gates or kinds with the limits that hold for them, and nothing else of them; by default, all
        that have a limit of their own."""
        known = _Known(self._controls.all_limits())
        names = sorted(known.limits.names()) if gates is None else gates
        own = [name for name in names if not is_kind(name) and known.limits.of(name) is not None]
        found = {load.gate: load for load in self._all_loads(own, known)}
        return [found.get(name) or known.load(name, None, 0) for name in names]

    def held_by_rate(self, gate: str) -> RateInForce | None:
        """The rate of a gate that keeps something back now; None: it has none, or that keeps nothing back."""
        return self._controls.rates.of(gate) if self._is_closed_by_rate(gate) else None

    def _known(self) -> "_Known":
        return _Known(
            limits=self._controls.all_limits(),
            rates=self._controls.rates.all(),
            weights=self._shares.weights(),
            paused=set(self._controls.paused()),
            opens_in_ms=self._opens_in_ms(),
        )

    def _all_loads(self, gates: list[str], known: "_Known") -> list[GateLoad]:
        pages = (gates[start : start + READ_A_TRIP] for start in range(0, len(gates), READ_A_TRIP))
        return [load for page in pages for load in self._loads(page, known)]

    @repeated
    def _stopped(self, names: set[str]) -> list[GateLoad]:
        """The loads of paused lanes, and of everything: how many wait and how many hold a slot."""
        found: list[GateLoad] = []
        for name in names:
            lanes = self._overview.lane_names() if name == EVERYTHING else [name.removeprefix(_LANE)]
            waiting = self._read([("ZCARD", self._keys.pending(lane)) for lane in lanes])
            held = self._read([("SCARD", self._keys.active(lane)) for lane in lanes])
            found.append(GateLoad(name, sum(held), None, sum(waiting), paused=True))
        return found

    @repeated
    def _closed(self, kinds: list[str]) -> set[str]:
        """The gates of these kinds behind which executions wait."""
        lanes = self._read([("SMEMBERS", self._keys.kind_lanes(kind)) for kind in kinds])
        pairs = [(kind, raw.decode()) for kind, members in zip(kinds, lanes, strict=True) for raw in members]
        listed = self._read([("ZRANGE", self._keys.closed(*pair), "0", "-1") for pair in pairs])
        return {raw.decode() for gates in listed for raw in gates}

    @repeated
    def _opens_in_ms(self) -> dict[str, int]:
        """When the gates that their rate keeps closed open, by gate; of several lanes, to the first."""
        now_ms = self.server_time_ms()
        pipeline = self._client.pipeline(transaction=False)
        for raw in self._client.zrange(self._keys.named("later"), 0, -1):
            key = self._keys.later(raw.decode())
            pipeline.zrangebyscore(key, now_ms - ASKED_AGAIN_MS, "+inf", withscores=True)
        opens: dict[str, int] = {}
        for raw, at in (pair for found in pipeline.execute() for pair in found):
            gate, in_ms = raw.decode(), max(0, int(at) - now_ms)
            opens[gate] = min(in_ms, opens.get(gate, in_ms))
        return opens

    @repeated
    def _is_closed_by_rate(self, gate: str) -> bool:
        lanes = [raw.decode() for raw in self._client.zrange(self._keys.gate_lanes(gate), 0, -1)]
        found = self._read([("ZSCORE", self._keys.later(lane), gate) for lane in lanes])
        since_ms = self.server_time_ms() - ASKED_AGAIN_MS
        return any(at is not None and float(at) >= since_ms for at in found)

    @repeated
    def _loads(self, gates: list[str], known: "_Known") -> list[GateLoad]:
        held = self._read([("SCARD", self._keys.held(gate)) for gate in gates])
        each = zip(gates, held, self._waiting(gates), strict=True)
        return [known.load(gate, count, waiting) for gate, count, waiting in each]

    def _waiting(self, gates: list[str]) -> list[int]:
        lanes = self._read([("ZRANGE", self._keys.gate_lanes(gate), "0", "-1") for gate in gates])
        pairs = [(gate, raw.decode()) for gate, members in zip(gates, lanes, strict=True) for raw in members]
        counts = dict.fromkeys(gates, 0)
        places = [(lane, self._keys.waiting(gate, lane)) for gate, lane in pairs]
        for (gate, _), count in zip(pairs, count_in(self._client, self._keys, places), strict=True):
            counts[gate] += count
        return list(counts.values())


@dataclass(frozen=True, slots=True)
class _Known:
    """What was set for gates and kinds, read before their counts."""

    limits: Limits
    rates: Mapping[str, RateInForce] = field(default_factory=dict[str, RateInForce])
    weights: Mapping[str, int] = field(default_factory=dict[str, int])
    paused: set[str] = field(default_factory=set[str])
    opens_in_ms: Mapping[str, int] = field(default_factory=dict[str, int])

    def load(self, name: str, held: int | None, waiting: int) -> GateLoad:
        """The load of a gate, or of a kind, with what holds for it."""
        holding = self.limits.named(name) if is_kind(name) else self.limits.of(name)
        return GateLoad(
            gate=name,
            held=held,
            limit=holding and holding.limit,
            waiting=waiting,
            paused=name in self.paused,
            limited_by=holding and holding.name,
            declared=holding is not None and holding.is_declared,
            auto=holding and holding.auto,
            rate=self.rates.get(name) or self.rates.get(kind_of(name) or ""),
            opens_in_ms=self.opens_in_ms.get(name),
            weight=self.weights.get(name, UNWEIGHED),
        )

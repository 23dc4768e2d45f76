"""Read-only figures of gates, lanes and actions: what holds executions back, and which lanes workers ask for.

In the flow: the command line shows them to an operator; nothing here changes anything. Many gates and lanes are read
in a few round trips, not in one moment: figures of a busy queue may be some milliseconds apart.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from .engine.controls import Controls
from .model.limits import EVERYTHING, Limits, is_kind
from .transport.reading import Reader, repeated
from .transport.scripts import Scripts
from .views import LIVE_CONSUMER_MS

READ_A_TRIP: Final = 500
_LANE: Final = "lane:"
_USED: Final = "used:"


@dataclass(frozen=True, slots=True)
class GateLoad:
    """The load of a limited or paused gate, a limited kind, a paused lane, or everything while it is paused."""

    gate: str
    """The name of a gate, or of a kind, such as `tenant:*`; `lane:NAME` for a lane, `*` for everything."""
    held: int | None
    """None for a kind: each of its gates has its own count."""
    limit: int | None
    waiting: int
    """Executions that found the gate closed; those that never came to the head of their lane are not counted. For a
    lane and for everything: all that wait."""
    paused: bool
    limited_by: str | None = None
    """The gate or kind that the limit was set for."""
    declared: bool = False
    """Whether an actor declared the limit; else an operator set it."""

    @property
    def room(self) -> float:
        """How many more executions the gate lets through."""
        if self.paused:
            return 0
        if self.limit is None:
            return float("inf")
        return max(0, self.limit - (self.held or 0))


@dataclass(frozen=True, slots=True)
class LaneLoad:
    """A lane that a worker has asked for, or that has been in use."""

    lane: str
    asked_ms_ago: int | None
    """Milliseconds since a worker last asked for it; None: never."""
    size: int
    """Executions that wait, are scheduled or run."""

    @property
    def live(self) -> bool:
        """Whether workers ask for it: each does so every second."""
        return self.asked_ms_ago is not None and self.asked_ms_ago <= LIVE_CONSUMER_MS


@dataclass(frozen=True, slots=True)
class ActionLoad:
    """An action whose executions are counted."""

    action: str
    waiting: int
    running: int
    total_enqueued: int
    total_completed: int
    """Ended, in whatever terminal state."""

    @property
    def is_used(self) -> bool:
        """Whether an execution of this action waits or holds a slot."""
        return self.waiting + self.running > 0


@dataclass(frozen=True, slots=True)
class UserLoad:
    """A user with executions that wait."""

    user_id: str
    waiting: int
    running: int


class Overview(Reader):
    """Reads the loads from one server. Each method raises QueueUnavailable if the server does not answer."""

    def __init__(self, scripts: Scripts, controls: Controls) -> None:
        super().__init__(scripts)
        self._keys = scripts.keys
        self._controls = controls

    def gates(self) -> list[GateLoad]:
        """The loads of all gates with a limit of their own, paused gates, limited kinds, gates closed by their kind's
        limit, paused lanes, and everything if it is paused; those with the most waiting executions first."""
        limits = self._controls.all_limits()
        all_paused = set(self._controls.paused())
        stopped = {name for name in all_paused if name == EVERYTHING or name.startswith(_LANE)}
        paused = all_paused - stopped
        names = limits.names()
        closed = self._closed([name for name in names if is_kind(name)])
        gates = sorted({name for name in names if not is_kind(name)} | paused | closed)
        found = self._all_loads(gates, limits, paused)
        for kind in filter(is_kind, names):
            waiting = sum(load.waiting for load in found if load.limited_by == kind)
            found.append(_load(kind, None, waiting, limits, paused))
        found += self._stopped(stopped)
        return sorted(found, key=lambda one: (-one.waiting, one.room, one.gate))

    def limited(self, gates: list[str] | None = None) -> list[GateLoad]:
        """These gates or kinds with the limits that hold for them; by default, all that have a limit of their own."""
        limits = self._controls.all_limits()
        names = sorted(limits.names()) if gates is None else gates
        own = [name for name in names if not is_kind(name) and limits.of(name) is not None]
        found = {load.gate: load for load in self._all_loads(own, limits, set())}
        return [found.get(name) or _load(name, None, 0, limits, set()) for name in names]

    def _all_loads(self, gates: list[str], limits: Limits, paused: set[str]) -> list[GateLoad]:
        pages = (gates[start : start + READ_A_TRIP] for start in range(0, len(gates), READ_A_TRIP))
        return [load for page in pages for load in self._loads(page, limits, paused)]

    @repeated
    def _stopped(self, names: set[str]) -> list[GateLoad]:
        """The loads of paused lanes, and of everything: how many wait and how many hold a slot."""
        found: list[GateLoad] = []
        for name in names:
            lanes = self._names() if name == EVERYTHING else [name.removeprefix(_LANE)]
            waiting = self._read([("ZCARD", self._keys.pending(lane)) for lane in lanes])
            held = self._read([("SCARD", self._keys.active(lane)) for lane in lanes])
            found.append(GateLoad(name, sum(held), None, sum(waiting), paused=True))
        return found

    @repeated
    def _closed(self, kinds: list[str]) -> set[str]:
        """The gates of these kinds behind which executions wait."""
        lanes = self._read([("SMEMBERS", self._keys.gate_lanes(kind)) for kind in kinds])
        pairs = [(kind, raw.decode()) for kind, members in zip(kinds, lanes, strict=True) for raw in members]
        listed = self._read([("ZRANGE", self._keys.closed(*pair), "0", "-1") for pair in pairs])
        return {raw.decode() for gates in listed for raw in gates}

    @repeated
    def _loads(self, gates: list[str], limits: Limits, paused: set[str]) -> list[GateLoad]:
        held = self._read([("SCARD", self._keys.held(gate)) for gate in gates])
        each = zip(gates, held, self._waiting(gates), strict=True)
        return [_load(gate, count, waiting, limits, paused) for gate, count, waiting in each]

    @repeated
    def lanes(self) -> list[LaneLoad]:
        """Every lane that a worker has asked for or that has been in use, by name."""
        rounds = self._client.hgetall(self._keys.named("rounds"))
        asked = {
            field.decode().removeprefix(_LANE): int(at)
            for field, at in rounds.items()
            if field.startswith(_LANE.encode())
        }
        lanes = _names_in(rounds)
        seconds, microseconds = self._client.time()
        now_ms = seconds * 1000 + microseconds // 1000
        sizes = self._read([("SCARD", self._keys.members(lane)) for lane in lanes])
        return [
            LaneLoad(lane, abs(now_ms - asked[lane]) if lane in asked else None, size)
            for lane, size in zip(lanes, sizes, strict=True)
        ]

    @repeated
    def actions(self) -> list[ActionLoad]:
        """Every action that was ever counted and not dropped since; unused ones first, then by `total_enqueued`."""
        keys = self._keys
        found: list[ActionLoad] = []
        names = sorted(raw.decode() for raw in self._client.smembers(keys.named("actions")))
        for start in range(0, len(names), READ_A_TRIP):
            page = names[start : start + READ_A_TRIP]
            waiting = self._read([("ZCARD", keys.action_pending(action)) for action in page])
            running = self._read([("SCARD", keys.held(f"action:{action}")) for action in page])
            totals = self._read(
                [("HMGET", keys.action_stats(action), "total_enqueued", "total_completed") for action in page]
            )
            found += [
                ActionLoad(action, queued, held, int(enqueued or 0), int(completed or 0))
                for action, queued, held, (enqueued, completed) in zip(page, waiting, running, totals, strict=True)
            ]
        return sorted(found, key=lambda one: (one.is_used, one.total_enqueued, one.action))

    @repeated
    def users(self) -> list[UserLoad]:
        """Every user with executions that wait in any lane; those with the most first."""
        waiting: Counter[str] = Counter()
        for counts in self._read([("HGETALL", self._keys.users(lane)) for lane in self._names()]):
            for user_id, count in counts.items():
                waiting[user_id.decode()] += int(count)
        names = [user_id for user_id, count in waiting.most_common() if count > 0]
        held = self._read([("SCARD", self._keys.held(f"user:{user_id}")) for user_id in names])
        return [UserLoad(user_id, waiting[user_id], count) for user_id, count in zip(names, held, strict=True)]

    @repeated
    def is_known(self, name: str) -> bool:
        """Whether the queue has seen this name, which is of an action, a user, another gate or a lane."""
        kind, _, rest = name.partition(":")
        keys = [self._keys.held(name), self._keys.gate_lanes(name)]
        if kind == "action":
            keys.append(self._keys.action_stats(rest))
        if kind == "lane":
            keys.append(self._keys.members(rest))
        found = self._read([("EXISTS", *keys), ("HEXISTS", self._keys.named("rounds"), name)])
        if kind == "user" and not any(found):
            found = self._read([("HEXISTS", self._keys.users(lane), rest) for lane in self._names()])
        return any(found)

    @repeated
    def lane_names(self) -> list[str]:
        """Every lane that a worker has asked for or that has been in use, sorted."""
        return self._names()

    def _names(self) -> list[str]:
        return _names_in(self._client.hkeys(self._keys.named("rounds")))

    def _waiting(self, gates: list[str]) -> list[int]:
        lanes = self._read([("SMEMBERS", self._keys.gate_lanes(gate)) for gate in gates])
        pairs = [(gate, raw.decode()) for gate, members in zip(gates, lanes, strict=True) for raw in members]
        counts = dict.fromkeys(gates, 0)
        for (gate, _), count in zip(
            pairs, self._read([("ZCARD", self._keys.waiting(*pair)) for pair in pairs]), strict=True
        ):
            counts[gate] += count
        return list(counts.values())

    def _read(self, commands: list[tuple[str, ...]]) -> list[Any]:
        pipeline = self._client.pipeline(transaction=False)
        for command in commands:
            pipeline.execute_command(*command)
        return pipeline.execute()


def _names_in(rounds: Iterable[bytes]) -> list[str]:
    """Return the lanes that have a field in the hash `rounds`, sorted by name."""
    fields = [field.decode() for field in rounds]
    return sorted({field.partition(":")[2] for field in fields if field.startswith((_LANE, _USED))})


def _load(name: str, held: int | None, waiting: int, limits: Limits, paused: set[str]) -> GateLoad:
    holding = limits.named(name) if is_kind(name) else limits.of(name)
    if holding is None:
        return GateLoad(name, held, None, waiting, name in paused)
    return GateLoad(name, held, holding.limit, waiting, name in paused, holding.name, holding.is_declared)

"""The invariants of the engine, computed from the contents of Redis alone, whatever led there.

From the executions' records follows what every index must hold; the whole contents must be exactly that, so that a
forgotten entry, a ghost, a count that drifted or a key left behind all show. What changed since the last check must be
allowed to change: terminal states stay, attempts rise by one, no grant is made at or above a limit.
"""

import math
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, WAITING, State, may_become
from model.dump import Dump
from model.execution import EVENTS_LANE

Meta = dict[str, str]
OWNED = (
    "clock",
    "rounds",
    "epoch",
    "leader",
    "journal",
    "limits",
    "limits:defaults",
    "paused",
    "settings",
    "changes",
    "actions",
    "test-clock",
)
"""Keys that stay: the queue's own clocks, counters and what an operator set."""
MAX_WAKE_TOKENS = 64


class Invariants:
    """Checks one queue again and again."""

    def __init__(self) -> None:
        self._before: dict[str, Meta] = {}
        self._is_first = True

    def check(self, dump: Dump, *, max_active: int | None = None, one_step: bool = True) -> None:
        """All of them.

        Args:
            dump: The contents now.
            max_active: In place of their lane's bound, for the grants of the last step; None: that bound.
            one_step: Only one transition an execution since the last check.
        """
        metas, known = dump.metas(), dump.known()
        _check_indexes(dump, metas)
        _check_payloads(dump, metas)
        _check_wake_tokens(dump, metas)
        _check_tombstones(dump, metas)
        self._check_changes(dump, known, max_active, one_step)
        self._before, self._is_first = known, False

    def forget(self, execution_id: str) -> None:
        """Its record was lost, and that is no fault of the engine's."""
        del self._before[execution_id]

    def _check_changes(self, dump: Dump, metas: dict[str, Meta], max_active: int | None, one_step: bool) -> None:
        granted: list[Meta] = []
        for execution_id, before in self._before.items():
            now = metas.get(execution_id)
            assert now is not None, f"{execution_id} was forgotten"
            was, state = State(before["state"]), State(now["state"])
            if was in TERMINAL:
                # Of a dead letter that was dropped no more than that may be left.
                is_left = now.items() <= before.items() | {("attempt", "0")}
                assert now == before or is_left, f"{execution_id} ended as {was} and was changed"
            assert one_step is False or was == state or may_become(was, state) or _in_one_call(was, state)
            risen = int(now.get("attempt", 0)) - int(before.get("attempt", 0))
            assert risen >= 0, f"the attempts of {execution_id} fell"
            assert not one_step or risen <= 1
            if risen:
                granted.append(now)
        for meta in (meta for execution_id, meta in metas.items() if execution_id not in self._before):
            assert self._is_first or not one_step or meta.get("attempt", "0") == "0"
        if granted:
            _check_limits(dump, granted, max_active)


def _in_one_call(was: State, state: State) -> bool:
    """Two moves that one script may make: reaped or retried, due, and admitted; promoted and found lost."""
    return (was, state) in {
        (State.SCHEDULED, State.RUNNING),
        (State.SCHEDULED, State.EXPIRED),
        (State.RUNNING, State.EXPIRED),
        (State.POD, State.EXPIRED),
        (State.POD, State.RUNNING),
    }


def _check_limits(dump: Dump, granted: list[Meta], max_active: int | None) -> None:
    limits, paused = effective_limits(dump), dump["paused"].hash
    holding = len(dump["lease"].zset) + len(dump["lease:pods"].zset)
    assert holding <= float(dump["settings"].hash.get("max_concurrent", "inf")), "a grant was made above max_concurrent"
    assert "*" not in paused
    for meta in granted:
        allowed = bound_of(dump, meta["lane"]) if max_active is None else max_active
        active = dump[key_of(meta["lane"], "active")].parts
        assert len(active) <= allowed, f"a grant was made at or above the bound of lane {meta['lane']}"
        assert f"lane:{meta['lane']}" not in paused
        for gate in gates_of(meta):
            held = len(dump[f"gate:{gate}:held"].parts)
            assert held <= limits(gate)[0], f"a grant was made at or above the limit of {gate}"
            assert gate not in paused, f"a grant was made through {gate}, which is paused"


def key_of(lane: str, name: str) -> str:
    """The key of what each lane has for itself; those of lane `executions` name no lane."""
    return name if lane == "executions" else f"lane:{lane}:{name}"


def bound_of(dump: Dump, lane: str) -> float:
    """How many of a lane may hold a slot."""
    default = 10 if lane == "executions" else "inf"
    return float(dump["settings"].hash.get(key_of(lane, "max_concurrent_executions"), default))


def effective_limits(dump: Dump) -> Callable[[str], tuple[float, str | None]]:
    """From a gate to the limit that holds for it, and to its kind if that one's does."""
    declared: dict[str, int] = {}
    for field, limit in dump["limits:defaults"].hash.items():
        name, _, lane = field.partition("\n")
        if lane:
            declared[name] = min(int(limit), declared.get(name, int(limit)))
    set_ = {name: int(limit) for key in ("limits", "limits:defaults") for name, limit in dump[key].hash.items()}

    def limit_of(gate: str) -> tuple[float, str | None]:
        kind = gate.split(":")[0] + ":*" if ":" in gate else ""
        for name in (gate, kind):
            limit = set_.get(name, declared.get(name))
            if limit is not None:
                return limit, None if name == gate else kind
        return math.inf, None

    return limit_of


def gates_of(meta: Meta) -> list[str]:
    """All gates of an execution, by its record."""
    user = [f"user:{meta['user']}"] if "user" in meta else []
    return [f"action:{meta['action']}", *user, *meta.get("gates", "").splitlines()]


def lease_of(execution_id: str, meta: Meta) -> str:
    """What is held under its lease, by name."""
    return "\n".join([execution_id, meta["lane"], *gates_of(meta)])


def _check_indexes(dump: Dump, metas: dict[str, Meta]) -> None:
    sets, scores = _expected(metas)
    _expect_gate_indexes(dump, sets, scores)
    counted = {key.removeprefix("action:").removesuffix(":stats") for key in dump.keys if key.endswith(":stats")}
    if counted:
        sets["actions"] = counted
    actual_sets, actual_scores = _actual(dump)
    assert actual_sets == sets
    assert actual_scores == scores
    users: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for meta in metas.values():
        if "user" in meta and meta["state"] in WAITING:
            users[key_of(meta["lane"], "users")][meta["user"]] += 1
    counted = {key: entry.hash for key, entry in dump.keys.items() if key == "users" or key.endswith(":users")}
    assert {key: {user: int(count) for user, count in each.items()} for key, each in counted.items()} == users


def _expected(metas: dict[str, Meta]) -> tuple[dict[str, set[str]], dict[str, dict[str, float]]]:
    """What the records make of the sets, and of the sorted sets."""
    sets: dict[str, set[str]] = defaultdict(set)
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for execution_id, meta in metas.items():
        state, lane = meta["state"], meta["lane"]
        if state in TERMINAL:
            assert "ended_at" in meta
            continue
        assert "ended_at" not in meta
        sets[f"lane:{lane}:members"].add(execution_id)
        if state == State.PENDING:
            score = float(meta["score"])
            accepted_at = score - int(meta["band"]) * BAND_WIDTH_MS
            assert math.floor(score) == int(meta["band"]) * BAND_WIDTH_MS + math.floor(accepted_at)
            scores[key_of(lane, "pending")][execution_id] = score
            scores[f"action:{meta['action']}:pending"][execution_id] = accepted_at
            behind = meta.get("behind")
            place = f"ready:{lane}" if behind is None else f"gate:{behind}:waiting:{lane}"
            assert behind is None or behind in gates_of(meta)
            scores[place][execution_id] = score
        else:
            assert "behind" not in meta
        if state == State.SCHEDULED:
            sets["scheduled"].add(execution_id)
        if state in HOLDING:
            assert int(meta["attempt"]) >= 1
            sets[key_of(lane, "active")].add(execution_id)
            sets["lease" if state == State.RUNNING else "lease:pods"].add(lease_of(execution_id, meta))
            for gate in gates_of(meta):
                sets[f"gate:{gate}:held"].add(execution_id)
    return sets, scores


def _expect_gate_indexes(dump: Dump, sets: dict[str, set[str]], scores: dict[str, dict[str, float]]) -> None:
    """What the waiters make of `open`, `closed`, the gates' lanes and `lanes`, computed the slow way.

    A gate that its kind limits may stand in `open` without room, for that limit was lowered, or in `closed` with
    room, as one that was not looked at yet since that limit rose.
    """
    limits, paused, seen = effective_limits(dump), dump["paused"].hash, _seen(dump)
    best_of: dict[str, list[float]] = defaultdict(list)
    for key in [key for key in scores if ":waiting:" in key]:
        gate, lane = key.removeprefix("gate:").split(":waiting:")
        sets[f"gate:{gate}:lanes"].add(lane)
        held, best, kind = len(sets.get(f"gate:{gate}:held", ())), min(scores[key].values()), f"{gate.split(':')[0]}:*"
        limit, limiting = limits(gate)
        is_full, is_unseen = gate in paused or held >= limit, seen.get((lane, kind), math.inf) < best
        is_open = gate in dump[f"open:{lane}"].zset
        is_closed = gate in dump[f"gate:{kind}:closed:{lane}"].zset
        assert not (is_open and is_closed)
        if is_open:
            assert not is_full or (limiting and gate not in paused), f"{gate} is not open"
            scores[f"open:{lane}"][gate] = best
        elif is_closed:
            assert is_full or is_unseen, f"{gate} has room, and nobody is going to look"
            assert limiting or is_unseen
            scores[f"gate:{kind}:closed:{lane}"][gate] = best
            sets[f"gate:{kind}:lanes"].add(lane)
            if is_unseen:
                best_of[lane].append(best)
        else:
            assert is_full, f"{gate} has room"
            assert not limiting or gate in paused, f"{gate} is forgotten when its kind's limit rises"
    for key in [key for key in scores if key.startswith(("ready:", "open:"))]:
        best_of[key.split(":", 1)[1]].append(min(scores[key].values()))
    for lane, bests in best_of.items():
        if len(sets.get(key_of(lane, "active"), ())) < bound_of(dump, lane):  # else nothing of it may start
            scores["lanes"][lane] = min(bests)


def _seen(dump: Dump) -> dict[tuple[str, str], float]:
    """Lane and kind → up to which score its closed gates were looked at since its limit rose."""
    parts = dump["settings"].hash.get("raised", "").split("\n")
    return {(lane, kind): float(score) for lane, kind, score in zip(parts[::3], parts[1::3], parts[2::3], strict=False)}


def _actual(dump: Dump) -> tuple[dict[str, set[str]], dict[str, dict[str, float]]]:
    """The indexes as they are; any other key must have an owner or a TTL."""
    sets: dict[str, set[str]] = {}
    scores: dict[str, dict[str, float]] = {}
    for key, entry in dump.keys.items():
        if entry.kind == "set":
            sets[key] = set(entry.parts)
        elif key in ("lease", "lease:pods", "scheduled"):
            sets[key] = set(entry.zset)
        elif key.startswith("pauses:") or key.endswith(":outbox"):
            assert entry.ttl_ms > 0, f"{key} would stay for ever"
        elif key == "deadlines":
            waiting = {name for name, meta in dump.metas().items() if meta["state"] == State.PENDING}
            assert entry.zset.keys() <= waiting, "something that does not wait may expire"
        elif entry.kind == "zset" and key != "dead":
            scores[key] = entry.zset
        elif key.startswith(("reply:", "result:", "end:")):
            assert entry.ttl_ms > 0, f"{key} would stay for ever"
        elif not key.startswith(("event:", "message:", "meta:", "wake:")) and not key.endswith(":stats"):
            owned = key in OWNED or key in ("users", "dead") or (entry.kind == "hash" and key.endswith(":users"))
            assert owned, f"{key} belongs to nobody"
    return sets, scores


def _check_tombstones(dump: Dump, metas: dict[str, Meta]) -> None:
    tombstones = dump.tombstones()
    assert not tombstones.keys() & metas.keys(), "a tombstone, and a record beside it"
    assert all(State(each["state"]) in TERMINAL for each in tombstones.values())
    kept = _kept(dump)
    for execution_id, meta in metas.items():
        is_kept = meta["lane"] == EVENTS_LANE or execution_id in kept
        assert is_kept or meta["state"] not in TERMINAL, f"{execution_id} ended and has its record still"


def _check_payloads(dump: Dump, metas: dict[str, Meta]) -> None:
    kept = _kept(dump)
    for key, entry in dump.keys.items():
        kind, _, execution_id = key.partition(":")
        if kind in ("event", "message"):
            living = metas[execution_id]["state"] not in TERMINAL
            assert living or execution_id in kept, f"{key} outlived its execution"
            assert (entry.ttl_ms > 0) != living, f"{key} has a TTL of {entry.ttl_ms} ms"
    for execution_id, meta in metas.items():
        assert (dump[f"meta:{execution_id}"].ttl_ms > 0) == (meta["state"] in TERMINAL)
    assert all(metas[execution_id]["state"] in TERMINAL for execution_id in kept)
    marked = {name for name in dump["settings"].hash if name.startswith("outbox:")}
    assert marked == {f"outbox:{lane}" for lane in _outboxes(dump)}, "a worker is told of an outbox that has something"


def _outboxes(dump: Dump) -> dict[str, dict[str, float]]:
    found = {key: entry.zset for key, entry in dump.keys.items() if key.endswith(":outbox")}
    return {key.removeprefix("lane:").removesuffix(":outbox"): untold for key, untold in found.items()}


def _untold(dump: Dump) -> set[str]:
    """Of what the outboxes have, the ends; the record of any other is gone, and its id perhaps another's."""
    metas = dump.metas()
    posted = {(lane, name) for lane, names in _outboxes(dump).items() for name in names if name in metas}
    ended = {name for lane, name in posted if metas[name]["lane"] == lane and metas[name]["state"] in TERMINAL}
    return {name for name in ended if f"message:{name}" in dump.keys}


def _kept(dump: Dump) -> set[str]:
    """Dead letters, and those whose end is to be told."""
    return {*dump["dead"].zset, *_untold(dump)}


def _check_wake_tokens(dump: Dump, metas: dict[str, Meta]) -> None:
    soon = {meta["lane"] for meta in metas.values() if meta["state"] == State.SCHEDULED}
    for key, entry in dump.keys.items():
        lane = key.removeprefix("wake:")
        if key != lane:
            assert len(entry.parts) <= MAX_WAKE_TOKENS
            assert lane in dump["lanes"].zset or lane in soon, f"{lane} has wake tokens and nothing to start"


def left_behind(dump: Dump) -> dict[str, Any]:
    """What has neither a TTL nor an owner; for a queue in which all has ended, nothing."""
    return {
        key: entry
        for key, entry in dump.keys.items()
        if entry.ttl_ms < 0 and key not in OWNED and not key.endswith(":stats")
    }

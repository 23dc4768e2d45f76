"""What every index must hold, computed the slow way from the executions' records, beside what it does hold."""

import math
from collections import defaultdict
from collections.abc import Callable

from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from model.dump import Dump

Meta = dict[str, str]
OWNED = (
    "clock",
    "rounds",
    "epoch",
    "leader",
    "journal",
    "incarnation",
    "refusals",
    "limits",
    "limits:defaults",
    "paused",
    "settings",
    "changes",
    "actions",
    "test-clock",
)
"""Keys that stay: the queue's own clocks, counters and what an operator set."""


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


def check_indexes(dump: Dump, metas: dict[str, Meta]) -> None:
    """The whole contents are what the records make of them: nothing forgotten, nothing left behind."""
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
        if key == "workers" or key.startswith("worker:"):
            assert entry.ttl_ms > 0, f"{key} would stay for ever"
        elif entry.kind == "set":
            sets[key] = set(entry.parts)
        elif key in ("lease", "lease:pods", "scheduled"):
            sets[key] = set(entry.zset)
        elif key.startswith(("pauses:", "session:", "sessions:", "login:")) or key.endswith(":outbox"):
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

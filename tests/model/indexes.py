"""What every index must hold, computed the slow way from the executions' records, beside what it does hold."""

import math
from collections import defaultdict

from bandmaster.scheduler.model.priority import BAND_WIDTH_MS
from bandmaster.scheduler.model.states import HOLDING, TERMINAL, WAITING, State
from model.dump import Dump
from model.in_force import effective_limits, effective_rates

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
    "weights",
    "schedules",
    "rates",
    "auto_limits",
)
"""Keys that stay: the queue's own clocks, counters and what an operator set."""


def key_of(lane: str, name: str) -> str:
    """The key of what each lane has for itself; those of lane `executions` name no lane."""
    return name if lane == "executions" else f"lane:{lane}:{name}"


def bound_of(dump: Dump, lane: str) -> float:
    """How many of a lane may hold a slot."""
    default = 10 if lane == "executions" else "inf"
    return float(dump["settings"].hash.get(key_of(lane, "max_concurrent_executions"), default))


def gates_of(meta: Meta) -> list[str]:
    """All gates of an execution, by its record."""
    user = [f"user:{meta['user']}"] if "user" in meta else []
    return [f"action:{meta['action']}", *user, *meta.get("gates", "").splitlines()]


def flow_of(meta: Meta) -> str:
    """The flow of an execution, by its record."""
    return "\n".join(gates_of(meta))


def lease_of(execution_id: str, meta: Meta) -> str:
    """What is held under its lease, by name."""
    return "\n".join([execution_id, meta["lane"], *gates_of(meta)])


def check_indexes(dump: Dump, metas: dict[str, Meta]) -> None:
    """The whole contents are what the records make of them: nothing forgotten, nothing left behind."""
    sets, scores = _expected(dump, metas)
    _expect_flows(dump, metas, scores)
    _expect_gate_indexes(dump, sets, scores)
    counted = {key.removeprefix("action:").removesuffix(":stats") for key in dump.keys if key.endswith(":stats")}
    if counted:
        sets["actions"] = counted
    actual_sets, actual_scores = _actual(dump)
    assert actual_sets == sets
    for key in [key for key in actual_scores if key.startswith("ready:")]:
        # A ready flow may stand lower than by its best: admission finds out when it comes to it.
        _expect_bounds(actual_scores[key], scores[key])
        actual_scores[key] = scores[key]
    for lane in lanes_in(dump):
        # Swept into the index of times, page by page, since the lane is fair.
        if key_of(lane, "deadlines_from") in dump["settings"].hash:
            key = f"lane:{lane}:times"
            assert actual_scores.pop(key, {}).items() <= scores.pop(key, {}).items()
    assert actual_scores == scores
    users: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for meta in metas.values():
        if "user" in meta and meta["state"] in WAITING:
            users[key_of(meta["lane"], "users")][meta["user"]] += 1
    counted = {key: entry.hash for key, entry in dump.keys.items() if key == "users" or key.endswith(":users")}
    assert {key: {user: int(count) for user, count in each.items()} for key, each in counted.items()} == users


def _expect_bounds(flows: dict[str, float], best: dict[str, float]) -> None:
    assert flows.keys() == best.keys()
    assert all(bound <= best[flow] for flow, bound in flows.items())


def _expected(dump: Dump, metas: dict[str, Meta]) -> tuple[dict[str, set[str]], dict[str, dict[str, float]]]:
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
        if lane.startswith("slot:"):
            sets[f"slots:{execution_id.split(':')[1]}"].add(execution_id)
        if state == State.PENDING:
            score = float(meta["score"])
            accepted_at = score - int(meta["band"]) * BAND_WIDTH_MS
            assert math.floor(score) == int(meta["band"]) * BAND_WIDTH_MS + math.floor(accepted_at)
            scores[key_of(lane, "pending")][execution_id] = score
            time = float(meta.get("time", accepted_at))
            queue = f"action:{meta['action']}:pending"
            # What waited in a fair lane that is strict again has the time in one, and a tag in the other.
            scores[queue][execution_id] = time if dump[queue].zset.get(execution_id) == time else accepted_at
            if is_fair_in(dump, lane):
                scores[f"lane:{lane}:times"][execution_id] = time
            scores[f"flow:{lane}:{flow_of(meta)}"][execution_id] = score
        if state == State.SCHEDULED:
            sets["scheduled"].add(execution_id)
        if state in HOLDING:
            assert int(meta["attempt"]) >= 1
            sets[key_of(lane, "active")].add(execution_id)
            sets["lease" if state == State.RUNNING else "lease:pods"].add(lease_of(execution_id, meta))
            for gate in gates_of(meta):
                sets[f"gate:{gate}:held"].add(execution_id)
    return sets, scores


def _expect_flows(dump: Dump, metas: dict[str, Meta], scores: dict[str, dict[str, float]]) -> None:
    """Each flow stands by its best score in one place: among the ready ones of its lane, or behind one of its gates."""
    behind = dict(dump["behind"].hash)
    for lane, flow in {(meta["lane"], flow_of(meta)) for meta in metas.values() if meta["state"] == State.PENDING}:
        gate = behind.pop(f"{lane}\n{flow}", None)
        assert gate is None or gate in flow.splitlines()
        place = f"ready:{lane}" if gate is None else f"gate:{gate}:waiting:{lane}"
        scores[place][flow] = min(scores[f"flow:{lane}:{flow}"].values())
    assert behind == {}, "an empty flow stands behind a gate"


def _expect_gate_indexes(dump: Dump, sets: dict[str, set[str]], scores: dict[str, dict[str, float]]) -> None:
    """What the waiters make of `open`, `closed`, the gates' lanes and `lanes`, computed the slow way.

    A gate that its kind limits may stand in `open` without room, for that limit was lowered, or in `closed` with
    room, as one that was not looked at yet since that limit rose.
    """
    limits, paused, seen, rates = effective_limits(dump), dump["paused"].hash, _seen(dump), effective_rates(dump)
    best_of: dict[str, list[float]] = defaultdict(list)
    for key in [key for key in scores if ":waiting:" in key]:
        gate, lane = key.removeprefix("gate:").split(":waiting:")
        scores[f"gate:{gate}:lanes"][lane] = min(scores[key].values())
        held, best, kind = len(sets.get(f"gate:{gate}:held", ())), min(scores[key].values()), f"{gate.split(':')[0]}:*"
        limit, limiting = limits(gate)
        is_rate_of_kind = rates(gate)[1]
        at = dump[f"later:{lane}"].zset.get(gate)
        is_unseen = seen.get((lane, kind), math.inf) < best
        is_full = gate in paused or held >= limit or at is not None
        is_of_kind = bool(limiting) or is_rate_of_kind
        if at is not None:
            scores[f"later:{lane}"][gate] = at
            scores["later"][lane] = min(at, scores["later"].get(lane, at))
        is_open = gate in dump[f"open:{lane}"].zset
        is_closed = gate in dump[f"gate:{kind}:closed:{lane}"].zset
        assert not (is_open and is_closed)
        if is_open:
            assert not is_full or (is_of_kind and gate not in paused and at is None), f"{gate} is not open"
            scores[f"open:{lane}"][gate] = best
        elif is_closed:
            assert is_full or is_unseen, f"{gate} has room, and nobody is going to look"
            assert is_of_kind or is_unseen
            scores[f"gate:{kind}:closed:{lane}"][gate] = best
            sets[f"gate:{kind}:closed-lanes"].add(lane)
            if is_unseen:
                best_of[lane].append(best)
        else:
            assert is_full, f"{gate} has room"
            # One that its own rate closed is looked at when that opens it.
            is_forgotten = limiting if at is None else is_rate_of_kind
            assert not is_forgotten or gate in paused, f"{gate} is forgotten when its kind's limit or rate rises"
    for key in [key for key in scores if key.startswith(("ready:", "open:"))]:
        best_of[key.split(":", 1)[1]].append(min(scores[key].values()))
    for lane, bests in best_of.items():
        if len(sets.get(key_of(lane, "active"), ())) < bound_of(dump, lane):  # else nothing of it may start
            scores["lanes"][lane] = _claim(dump, lane, min(bests), scores)


def _claim(dump: Dump, lane: str, best: float, scores: dict[str, dict[str, float]]) -> float:
    """A fair lane stands among the others by its best candidate's time, not by its tag."""
    if not is_fair_in(dump, lane):
        return best
    (execution_id,) = (each for each, score in scores[key_of(lane, "pending")].items() if score == best)
    meta = dump[f"meta:{execution_id}"].hash
    if not any(best in scores.get(f"{kind}:{lane}", {}).values() for kind in ("ready", "open")):
        return dump["lanes"].zset[lane]  # behind a gate that nobody looked at since the limit of its kind rose
    return int(meta["band"]) * BAND_WIDTH_MS + float(meta["time"]) if "time" in meta else best


def is_fair_in(dump: Dump, lane: str) -> bool:
    """Whether a lane is fair by some kind."""
    return bool(dump["settings"].hash.get(key_of(lane, "fair_by")))


def lanes_in(dump: Dump) -> set[str]:
    """The lanes of what is known."""
    return {meta["lane"] for meta in dump.metas().values()}


def shares_in(dump: Dump) -> dict[tuple[str, int], dict[str, tuple[float, ...]]]:
    """By lane and band, what is kept of each key with waiters and, under '', of all."""
    found: dict[tuple[str, int], dict[str, tuple[float, ...]]] = {}
    for key, entry in dump.keys.items():
        lane, _, band = key.removeprefix("lane:").partition(":tags:")
        if band.isdecimal():
            found[lane, int(band)] = {
                name: tuple(float(each) for each in figures.split()) for name, figures in entry.hash.items()
            }
    return found


def _seen(dump: Dump) -> dict[tuple[str, str], float]:
    """Lane and kind → up to which score its closed gates were looked at since its limit rose."""
    parts = dump["settings"].hash.get("raised", "").split("\n")
    return {(lane, kind): float(score) for lane, kind, score in zip(parts[::3], parts[1::3], parts[2::3], strict=False)}


def _actual(dump: Dump) -> tuple[dict[str, set[str]], dict[str, dict[str, float]]]:
    """The indexes as they are; any other key must have an owner or a TTL."""
    sets: dict[str, set[str]] = {}
    scores: dict[str, dict[str, float]] = {}
    for key, entry in dump.keys.items():
        if key in ("workers", "ledger") or key.startswith("worker:"):
            assert entry.ttl_ms >= 0, f"{key} would stay for ever"
        elif entry.kind == "set":
            sets[key] = set(entry.parts)
        elif key in ("lease", "lease:pods", "scheduled"):
            sets[key] = set(entry.zset)
        elif key.startswith(("pauses:", "session:", "sessions:", "login:")) or key.endswith((":outbox", ":news")):
            assert entry.ttl_ms >= 0, f"{key} would stay for ever"
        elif key == "owners":
            waited_for = {
                name.removeprefix("slots:") for name in dump.keys if name.count(":") == 1 and "slots:" in name
            }
            assert waited_for <= entry.zset.keys(), "nobody would end what an owner waits for that lives no more"
        elif key in ("schedule_names", "schedule_times"):
            assert all(name in dump["schedules"].hash for name in entry.zset), f"{key} names a schedule that is gone"
        elif key == "deadlines":
            waiting = {name for name, meta in dump.metas().items() if meta["state"] == State.PENDING}
            assert entry.zset.keys() <= waiting, "something that does not wait may expire"
        elif key == "ageing":
            below = {n for n, m in dump.metas().items() if m["state"] == State.PENDING and int(m["band"]) > 1}
            assert entry.zset.keys() <= below, "something may rise that does not wait, or is high already"
        elif ":tags:" in key:
            assert (entry.ttl_ms >= 0) == (entry.kind == "hash" and entry.hash.keys() == {""}), (
                f"{key} would stay for ever"
            )
            assert entry.kind == "hash" or key.removesuffix(":idle") in dump.keys, f"{key} belongs to nobody"
        elif entry.kind == "zset" and key != "dead":
            scores[key] = entry.zset
        elif key.startswith("unique:"):
            assert (entry.ttl_ms >= 0) == (" " in entry.parts[0]), f"{key} would stay for ever, or not long enough"
        elif key.startswith(("reply:", "result:", "end:")) or key.endswith(":rate") or key == "due":
            assert entry.ttl_ms >= 0, f"{key} would stay for ever"
        elif not key.startswith(("event:", "message:", "meta:", "wake:")) and not key.endswith(":stats"):
            owned = (
                key in OWNED or key in ("users", "dead", "behind") or (entry.kind == "hash" and key.endswith(":users"))
            )
            assert owned, f"{key} belongs to nobody"
    return sets, scores

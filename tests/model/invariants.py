"""The invariants of the engine, computed from the contents of Redis alone, whatever led there.

From the executions' records follows what every index must hold; the whole contents must be exactly that, so that a
forgotten entry, a ghost, a count that drifted or a key left behind all show. What changed since the last check must be
allowed to change: terminal states stay, attempts rise by one, no grant is made at or above a limit.
"""

import math
from collections import defaultdict
from typing import Any

from bandmaster.scheduler.priority import BAND_WIDTH_MS
from bandmaster.scheduler.states import HOLDING, TERMINAL, WAITING, State, may_become
from model.dump import Dump

Meta = dict[str, str]
OWNED = ("clock", "rounds", "epoch", "leader", "journal", "limits", "paused", "settings", "test-clock")
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
            max_active: The limit over everything that the last step worked under; None: the setting's.
            one_step: Only one transition an execution since the last check.
        """
        metas = dump.metas()
        _check_indexes(dump, metas)
        _check_payloads(dump, metas)
        _check_wake_tokens(dump, metas)
        self._check_changes(dump, metas, max_active, one_step)
        self._before, self._is_first = metas, False

    def _check_changes(self, dump: Dump, metas: dict[str, Meta], max_active: int | None, one_step: bool) -> None:
        granted: list[Meta] = []
        for execution_id, before in self._before.items():
            now = metas.get(execution_id)
            assert now is not None, f"{execution_id} was forgotten"
            was, state = State(before["state"]), State(now["state"])
            if was in TERMINAL:
                assert now == before, f"{execution_id} ended as {was} and was changed"
            assert one_step is False or was == state or may_become(was, state) or _in_one_call(was, state)
            risen = int(now.get("attempt", 0)) - int(before.get("attempt", 0))
            assert risen >= 0, f"the attempts of {execution_id} fell"
            assert not one_step or risen <= 1
            if risen:
                granted.append(now)
        for meta in (meta for execution_id, meta in metas.items() if execution_id not in self._before):
            assert self._is_first or not one_step or "attempt" not in meta
        if granted:
            _check_limits(dump, granted, max_active)


def _in_one_call(was: State, state: State) -> bool:
    """Two moves that one script may make: reaped or retried, due, and admitted; promoted and found lost."""
    return (was, state) in {
        (State.SCHEDULED, State.RUNNING),
        (State.RUNNING, State.EXPIRED),
        (State.POD, State.RUNNING),
    }


def _check_limits(dump: Dump, granted: list[Meta], max_active: int | None) -> None:
    limits, paused = dump["limits"].hash, dump["paused"].hash
    allowed = max_active
    if allowed is None:
        allowed = int(dump["settings"].hash.get("max_concurrent_executions", 10))
    assert len(dump["active"].parts) <= allowed, "a grant was made at or above the limit over everything"
    assert "*" not in paused
    for meta in granted:
        assert f"lane:{meta['lane']}" not in paused
        for gate in gates_of(meta):
            held = len(dump[f"gate:{gate}:held"].parts)
            assert gate not in limits or held <= int(limits[gate]), f"a grant was made at or above the limit of {gate}"
            assert gate not in paused, f"a grant was made through {gate}, which is paused"


def gates_of(meta: Meta) -> list[str]:
    """All gates of an execution, by its record."""
    user = [f"user:{meta['user']}"] if "user" in meta else []
    return [f"action:{meta['action']}", *user, *meta.get("gates", "").split()]


def _check_indexes(dump: Dump, metas: dict[str, Meta]) -> None:
    sets, scores = _expected(metas)
    _expect_gate_indexes(dump, sets, scores)
    actual_sets, actual_scores = _actual(dump)
    assert actual_sets == sets
    assert actual_scores == scores
    users: dict[str, int] = defaultdict(int)
    for meta in metas.values():
        if "user" in meta and meta["state"] in WAITING:
            users[meta["user"]] += 1
    assert {user: int(count) for user, count in dump["users"].hash.items()} == users


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
            scores["pending"][execution_id] = score
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
            sets["active"].add(execution_id)
            sets["lease" if state == State.RUNNING else "lease:pods"].add(execution_id)
            for gate in gates_of(meta):
                sets[f"gate:{gate}:held"].add(execution_id)
    return sets, scores


def _expect_gate_indexes(dump: Dump, sets: dict[str, set[str]], scores: dict[str, dict[str, float]]) -> None:
    """What the waiters make of `open`, of the gates' lanes and of `lanes`, computed the slow way."""
    limits, paused = dump["limits"].hash, dump["paused"].hash
    for key in [key for key in scores if ":waiting:" in key]:
        gate, lane = key.removeprefix("gate:").split(":waiting:")
        sets[f"gate:{gate}:lanes"].add(lane)
        held = len(sets.get(f"gate:{gate}:held", ()))
        if gate not in paused and (gate not in limits or held < int(limits[gate])):
            scores[f"open:{lane}"][gate] = min(scores[key].values())
    for key in [key for key in scores if key.startswith(("ready:", "open:"))]:
        lane = key.split(":", 1)[1]
        best = min(scores[key].values())
        scores["lanes"][lane] = min(best, scores["lanes"].get(lane, best))


def _actual(dump: Dump) -> tuple[dict[str, set[str]], dict[str, dict[str, float]]]:
    """The indexes as they are; any other key must have an owner or a TTL."""
    sets: dict[str, set[str]] = {}
    scores: dict[str, dict[str, float]] = {}
    for key, entry in dump.keys.items():
        if entry.kind == "set":
            sets[key] = set(entry.parts)
        elif key in ("lease", "lease:pods", "scheduled"):
            sets[key] = set(entry.zset)
        elif entry.kind == "zset" and key != "dead":
            scores[key] = entry.zset
        elif key.startswith(("reply:", "result:")):
            assert entry.ttl_ms > 0, f"{key} would stay for ever"
        elif not key.startswith(("event:", "message:", "meta:", "wake:")) and not key.endswith(":stats"):
            assert key in OWNED or key in ("users", "dead"), f"{key} belongs to nobody"
    return sets, scores


def _check_payloads(dump: Dump, metas: dict[str, Meta]) -> None:
    dead = dump["dead"].zset
    for key, entry in dump.keys.items():
        kind, _, execution_id = key.partition(":")
        if kind in ("event", "message"):
            living = metas[execution_id]["state"] not in TERMINAL
            assert living or execution_id in dead, f"{key} outlived its execution"
            assert (entry.ttl_ms > 0) == living, f"{key} has a TTL of {entry.ttl_ms} ms"
    for execution_id, meta in metas.items():
        forgotten_later = dump[f"meta:{execution_id}"].ttl_ms > 0
        assert forgotten_later == (meta["state"] in TERMINAL and execution_id not in dead)
    assert all(metas[execution_id]["state"] == State.FAILED for execution_id in dead)


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

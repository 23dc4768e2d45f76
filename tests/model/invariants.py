"""The invariants of the engine, computed from the contents of Redis alone, whatever led there.

From the executions' records follows what every index must hold; the whole contents must be exactly that, so that a
forgotten entry, a ghost, a count that drifted or a key left behind all show. What changed since the last check must be
allowed to change: terminal states stay, attempts rise by one, no grant is made at or above a limit.
"""

from collections.abc import Collection
from typing import Any

from bandmaster.scheduler.model.states import TERMINAL, State
from model.dump import Dump
from model.execution import EVENTS_LANE
from model.in_force import effective_limits
from model.indexes import OWNED, Meta, bound_of, check_indexes, gates_of, key_of
from model.moves import may_become

MAX_WAKE_TOKENS = 64


class Invariants:
    """Checks one queue again and again."""

    def __init__(self) -> None:
        self._before: dict[str, Meta] = {}
        self._is_first = True
        self.lost: set[str] = set()
        """Whose records were lost; a unique key may name one still, and is free."""

    def check(self, dump: Dump, *, max_active: int | None = None, one_step: bool = True) -> None:
        """All of them.

        Args:
            dump: The contents now.
            max_active: In place of their lane's bound, for the grants of the last step; None: that bound.
            one_step: Only one transition an execution since the last check.
        """
        metas, known = dump.metas(), dump.known()
        check_indexes(dump, metas)
        _check_payloads(dump, metas)
        _check_wake_tokens(dump, metas)
        _check_tombstones(dump, metas)
        _check_unique(dump, metas, self.lost)
        self._check_changes(dump, known, max_active, one_step)
        self._before, self._is_first = known, False

    def forget(self, execution_id: str) -> None:
        """Its record was lost, and that is no fault of the engine's."""
        del self._before[execution_id]
        self.lost.add(execution_id)

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


def _check_tombstones(dump: Dump, metas: dict[str, Meta]) -> None:
    tombstones = dump.tombstones()
    assert not tombstones.keys() & metas.keys(), "a tombstone, and a record beside it"
    assert all(State(each["state"]) in TERMINAL for each in tombstones.values())
    kept = _kept(dump)
    for execution_id, meta in metas.items():
        is_kept = meta["lane"] == EVENTS_LANE or execution_id in kept
        assert is_kept or meta["state"] not in TERMINAL, f"{execution_id} ended and has its record still"


def _check_unique(dump: Dump, metas: dict[str, Meta], lost: set[str]) -> None:
    for key, entry in dump.keys.items():
        if key.startswith("unique:") and entry.ttl_ms < 0:
            name = entry.parts[0]
            meta = metas.get(name, {})
            has_it = meta.get("unique", "").partition(" ")[2] == key.removeprefix("unique:")
            assert name in lost or (has_it and State(meta["state"]) not in TERMINAL), f"{key} outlived {name}"


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
        if lane.startswith("slots:") and key != lane:  # an owner's, for its news
            assert entry.ttl_ms > 0
        elif key != lane:
            assert len(entry.parts) <= MAX_WAKE_TOKENS
            is_later = lane in dump["later"].zset
            assert lane in dump["lanes"].zset or lane in soon or is_later, (
                f"{lane} has wake tokens and nothing to start"
            )


def left_behind(dump: Dump, lost: Collection[str] = ()) -> dict[str, Any]:
    """What has neither a TTL nor an owner; for a queue in which all has ended and no record was lost, nothing."""
    return {
        key: entry
        for key, entry in dump.keys.items()
        if entry.ttl_ms < 0 and key not in OWNED and not key.endswith(":stats")
        if not (key.startswith("unique:") and entry.parts[0] in lost)
    }

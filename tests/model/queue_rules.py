"""Rules of the state machine: parking, admission, and what an operator does to what waits."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.model.unique import Conflict, UniqueKey, Until
from model.base import (
    ACTIONS,
    BY,
    GATES,
    KINDS,
    LANES,
    OWN_GATES,
    USERS,
    deliveries,
    lanes,
    picks,
)
from model.batch_rules import some_wanted
from model.exchanging import Exchanging, Wanted
from model.execution import Execution

DUE_OFFSETS_MS: Final = (*[None] * 8, -5, 1, 700, 3_000, 40_000)
PROMOTED_BY_PARK: Final = 200
UNIQUE_MS: Final = 600_000
"""Longer than a game takes: the server counts a key's TTL by its own clock, which nobody turns."""

Request = tuple[str, int, str, str, list[str], int, int | None, int | None, str, bool, int, UniqueKey | None]
"""Lane, band, action, user, own gates, timeout, due in how many ms, maximum age, kind of payload, lasting, pick of a
parent, unique key.
"""
unique_keys = st.builds(
    UniqueKey,
    key=st.sampled_from(("report:1", "report:1", "Acme Corp")),
    scope=st.sampled_from((*Until, UNIQUE_MS)),
    on_conflict=st.sampled_from(Conflict),
)
any_key = st.one_of(st.none(), st.none(), unique_keys)


def _requests(unique: st.SearchStrategy[UniqueKey | None]) -> st.SearchStrategy[Request]:
    return st.tuples(
        st.sampled_from(LANES),
        st.integers(0, 4),
        st.sampled_from(ACTIONS),
        st.sampled_from(USERS),
        st.lists(st.sampled_from(OWN_GATES), max_size=3, unique=True),
        st.sampled_from((1_000, 60_000)),
        st.sampled_from(DUE_OFFSETS_MS),
        st.sampled_from((None, None, None, 500, 5_000, 30_000)),
        st.sampled_from(("event", "message")),
        st.booleans(),
        picks,
        unique,
    )


requests = _requests(any_key)
requests_with_a_key = _requests(unique_keys)


class QueueRules(Exchanging):
    """What waits, and what starts."""

    @initialize(
        wanted=st.lists(requests, min_size=4, max_size=10),
        limits=st.lists(st.tuples(st.sampled_from((*GATES, *KINDS)), st.integers(0, 2)), max_size=3),
        lane=lanes,
        count=st.integers(1, 4),
    )
    def the_queue_is_in_use(self, wanted: list[Request], limits: list[tuple[str, int]], lane: str, count: int) -> None:
        for gate, limit in limits:
            self.engine.tell("limit", gate, limit, BY)
            self.oracle.limits[gate] = limit
        self.park(wanted, False, 0, 1)
        self.engine_and_model_agree()
        self.a_woken_consumer_asks(lane, count, 1)

    def some_parent(self, pick: int) -> str:
        """One whose body is over and whose hooks run; mostly none."""
        holding = [e.execution_id for e in self.oracle.executions.values() if e.holds]
        return holding[pick % len(holding)] if holding and pick % 3 == 0 else ""

    @rule(request=requests)
    def park_one(self, request: Request) -> None:
        self.park([request], False, 0, 1)

    @rule(wanted=st.lists(requests_with_a_key, min_size=1, max_size=2), lane=lanes, times=deliveries)
    def one_starts_and_others_with_its_key_are_sent(self, wanted: list[Request], lane: str, times: int) -> None:
        self.park(wanted, False, 0, 1)
        self.engine_and_model_agree()
        self.admit(Wanted((lane,), 1), 1)
        self.engine_and_model_agree()
        self.park(wanted, False, 0, times)

    @rule(
        wanted=st.lists(requests, min_size=1, max_size=3),
        again=st.booleans(),
        pick=picks,
        times=deliveries,
    )
    def park(
        self,
        wanted: list[Request],
        again: bool,
        pick: int,
        times: int,
    ) -> None:
        known = list(self.oracle.executions)
        arguments: list[str | int] = []
        executions: list[tuple[Execution, int | None, int | None]] = []
        for number, request in enumerate(wanted):
            lane, band, action, user, gates, timeout_ms, offset, max_age_ms, kind, lasting, parent_pick, unique = (
                request
            )
            name = f"e{len(known) + number}"
            if again and known and number == 0:
                name = known[pick % len(known)]
            due = None if offset is None else self.oracle.now + offset
            parent = self.some_parent(parent_pick)
            payloads = (f"payload of {name}", "") if kind == "event" else ("", f"payload of {name}")
            arguments += [
                name,
                lane,
                band,
                action,
                user,
                "\n".join(gates),
                timeout_ms,
                "" if due is None else due,
                "" if max_age_ms is None else max_age_ms,
                *payloads,
                "1" if lasting else "",
                parent,
                "" if unique is None else unique.argument,
            ]
            execution = Execution(name, lane, band, action, user, tuple(gates), timeout_ms, parent, unique)
            execution.has_event, execution.has_message = kind == "event", kind == "message"
            executions.append((execution, due, max_age_ms))
        replies = self.engine.tell("park", *arguments, deliveries=times)
        self.oracle.promote(PROMOTED_BY_PARK)
        before = {name: execution.state for name, execution in self.oracle.executions.items()}
        expired = self.count_unobserved("expire")
        names = [execution.execution_id for execution, _, _ in executions]
        for number, ((execution, due, max_age_ms), reply) in enumerate(zip(executions, replies, strict=True)):
            self.observe_before(("park",), tuple(names[number:]))
            expected = self.oracle.park(execution, due, max_age_ms)
            if expected[0] == "QUEUE_FULL":
                own = [e for e in self.oracle.expirable() if e.lane == execution.lane]
                assert not own, "refused, and something stale was in the way"
            said = [reply[0].decode(), str(reply[1], "ascii") if isinstance(reply[1], bytes) else str(reply[1])]
            # A duplicate of what a later one of this call found stale was told its state before that.
            earlier = (expected[0], before.get(execution.execution_id, ""))
            assert said in (list(expected[:2]), list(earlier))
            if expected[0] == "OK":
                # What a later one of this call found stale still waited before an earlier one.
                most = int(expected[2]) + expired
                assert int(expected[2]) <= reply[2] <= most if execution.has_event else reply[2] == -1
                assert reply[3] == b"" if execution.state is State.SCHEDULED else float(reply[3]) == execution.score

    @rule(wanted=some_wanted, times=deliveries)
    def admit(self, wanted: Wanted, times: int) -> None:
        self.exchange((), wanted, times)

    @rule(lane=lanes, count=st.integers(1, 4), tokens=st.integers(1, 2))
    def a_woken_consumer_asks(self, lane: str, count: int, tokens: int) -> None:
        for _ in range(tokens):
            self.engine.client.lpop(self.engine.scripts.keys.wake(lane))
        self.admit(Wanted((lane,), count, asks=True), 1)

    @rule(pick=picks, band=st.integers(0, 4), times=deliveries)
    def reprioritise(self, pick: int, band: int, times: int) -> None:
        name = self.some_id(pick)
        code, state = self.engine.tell("reprioritise", name, band, BY, deliveries=times)
        assert (code.decode(), state.decode()) == self.oracle.reprioritise(name, band)

    @rule(pick=picks, silent=st.booleans(), times=deliveries)
    def remove(self, pick: int, silent: bool, times: int) -> None:
        name = self.some_id(pick)
        code, state = self.engine.tell("remove", name, int(silent), BY, deliveries=times)
        assert (code.decode(), state.decode()) == self.oracle.remove(name, silent=silent)

    @precondition(lambda self: bool(self.oracle.in_state(State.PENDING)))
    @rule(pick=picks)
    def the_payload_of_one_that_waits_is_lost(self, pick: int) -> None:
        waiting = self.oracle.pending()
        execution = waiting[pick % len(waiting)]
        keys = self.engine.scripts.keys
        self.engine.client.delete(keys.event(execution.execution_id), keys.message(execution.execution_id))
        execution.lose_payload()

    @rule(
        lane=lanes,
        band=st.integers(0, 4),
        user=st.sampled_from(USERS),
        pick=picks,
        parent_pick=picks,
        is_event=st.booleans(),
        times=deliveries,
    )
    def bury(self, lane: str, band: int, user: str, pick: int, parent_pick: int, is_event: bool, times: int) -> None:
        known = list(self.oracle.executions)
        name = known[pick % len(known)] if known and pick % 2 else f"e{len(known)}"
        parent, payloads = self.some_parent(parent_pick), ("payload", "") if is_event else ("", "payload")
        kept = self.engine.tell(
            "bury", name, lane, band, "pod", user, "", 0, "", "", *payloads, "1", parent, "full", "", deliveries=times
        )
        execution = Execution(name, lane, band, "pod", user, (), 0, parent)
        execution.has_event, execution.has_message = is_event, not is_event
        assert kept == int(name not in self.oracle.executions and not self.oracle.was_sent(execution))
        if kept:
            self.oracle.accept(execution)
            self.oracle.finish(execution, State.FAILED, dead=True, unseen=True)
            self.buried.add(name)

    @rule(lane=lanes, count=st.integers(1, 3), taken_ms=st.sampled_from((0, 900, 60_000)))
    def collect(self, lane: str, count: int, taken_ms: int) -> None:
        raw = self.engine.tell("collect", lane, count, taken_ms)
        assert all(message.startswith(b"payload") for *_, message in raw)
        taken = [(execution_id.decode(), state.decode()) for execution_id, _, state, _, _ in raw]
        assert taken == self.oracle.collect(lane, count, taken_ms)

    @precondition(lambda self: any(e.untold_from is not None for e in self.oracle.executions.values()))
    @rule(pick=picks, is_its_end=st.sampled_from((True, True, False)), dead=st.booleans())
    def tell(self, pick: int, is_its_end: bool, dead: bool) -> None:
        untold = [e for e in self.oracle.executions.values() if e.untold_from is not None]
        name = untold[pick % len(untold)].execution_id
        ended_at = self.engine.dump()[f"meta:{name}"].hash["ended_at"] if is_its_end else "1"
        answer = self.engine.tell("tell", name, ended_at, int(dead))
        assert answer == self.oracle.tell(name, is_its_end=is_its_end, dead=dead)
        assert self.engine.tell("tell", name, ended_at, int(dead)) == 0

    @precondition(lambda self: any(e.dead_at is not None for e in self.oracle.executions.values()))
    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        dead = [e for e in self.oracle.executions.values() if e.dead_at is not None]
        execution = dead[pick % len(dead)]
        assert self.engine.tell("drop", execution.execution_id, BY) == 1
        assert self.engine.tell("drop", execution.execution_id, BY) == 0
        execution.dead_at = None
        if not execution.is_kept:
            execution.lose_payload()

    @precondition(lambda self: any(e.ended and not e.is_kept for e in self.oracle.executions.values()))
    @rule(pick=picks)
    def the_time_of_one_that_has_ended_runs_out(self, pick: int) -> None:
        ended = [e for e in self.oracle.executions.values() if e.ended and not e.is_kept]
        execution = ended[pick % len(ended)]
        keys = self.engine.scripts.keys
        self.engine.client.delete(keys.meta(execution.execution_id), keys.ended(execution.execution_id))
        self.forget(execution)

    @precondition(lambda self: any(e.untold_from is not None for e in self.oracle.executions.values()))
    @rule(pick=picks)
    def the_time_of_one_whose_end_was_not_told_runs_out(self, pick: int) -> None:
        untold = [e for e in self.oracle.executions.values() if e.untold_from is not None and e.dead_at is None]
        if not untold:
            return
        execution = untold[pick % len(untold)]
        keys, name = self.engine.scripts.keys, execution.execution_id
        self.engine.client.delete(keys.meta(name), keys.message(name))
        self.forget(execution)
        self.oracle.outlived.append(execution)

"""Rules of the state machine: parking, admission, and what an operator does to what waits."""

from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import initialize, precondition, rule

from bandmaster.scheduler.states import State
from model.base import ACTIONS, GATES, LANES, OWN_GATES, USERS, ModelBase, deliveries, lanes, picks
from model.execution import Execution
from model.oracle import PROMOTED_BY_ADMIT, REAPED_BY_ADMIT

DUE_OFFSETS_MS: Final = (*[None] * 8, -5, 1, 700, 3_000, 40_000)
PROMOTED_BY_PARK: Final = 200

Request = tuple[str, int, str, str, list[str], int, int | None, str]
"""Lane, band, action, user, own gates, timeout, due in how many ms, kind of payload."""
requests = st.tuples(
    st.sampled_from(LANES),
    st.integers(0, 4),
    st.sampled_from(ACTIONS),
    st.sampled_from(USERS),
    st.lists(st.sampled_from(OWN_GATES), max_size=3, unique=True),
    st.sampled_from((1_000, 60_000)),
    st.sampled_from(DUE_OFFSETS_MS),
    st.sampled_from(("event", "message")),
)


class QueueRules(ModelBase):
    """What waits, and what starts."""

    @initialize(
        wanted=st.lists(requests, min_size=4, max_size=10),
        limits=st.lists(st.tuples(st.sampled_from(GATES), st.integers(0, 2)), max_size=3),
        lane=lanes,
        count=st.integers(1, 4),
    )
    def the_queue_is_in_use(self, wanted: list[Request], limits: list[tuple[str, int]], lane: str, count: int) -> None:
        for gate, limit in limits:
            self.engine.tell("limit", gate, limit)
            self.oracle.limits[gate] = limit
        self.park(wanted, False, 0, 1)
        self.engine_and_model_agree()
        self.a_woken_consumer_asks(lane, count, 1)

    @rule(request=requests)
    def park_one(self, request: Request) -> None:
        self.park([request], False, 0, 1)

    @rule(wanted=st.lists(requests, min_size=1, max_size=3), again=st.booleans(), pick=picks, times=deliveries)
    def park(
        self,
        wanted: list[Request],
        again: bool,
        pick: int,
        times: int,
    ) -> None:
        known = list(self.oracle.executions)
        arguments: list[str | int] = []
        executions: list[tuple[Execution, int | None]] = []
        for number, (lane, band, action, user, gates, timeout_ms, offset, kind) in enumerate(wanted):
            name = f"e{len(known) + number}"
            if again and known and number == 0:
                name = known[pick % len(known)]
            due = None if offset is None else self.oracle.now + offset
            payloads = (f"payload of {name}", "") if kind == "event" else ("", f"payload of {name}")
            arguments += [
                name,
                lane,
                band,
                action,
                user,
                " ".join(gates),
                timeout_ms,
                "" if due is None else due,
                *payloads,
            ]
            executions.append((Execution(name, lane, band, action, user, tuple(gates), timeout_ms), due))
        replies = self.engine.tell("park", *arguments, deliveries=times)
        self.oracle.promote(PROMOTED_BY_PARK)
        before = {name: execution.state for name, execution in self.oracle.executions.items()}
        expired = self.observe().count("expire")
        for (execution, due), reply in zip(executions, replies, strict=True):
            expected = self.oracle.park(execution, due)
            if expected[0] == "QUEUE_FULL":
                assert not list(self.oracle.expirable()), "refused, and something stale was in the way"
            said = [reply[0].decode(), str(reply[1], "ascii") if isinstance(reply[1], bytes) else str(reply[1])]
            # A duplicate of what a later one of this call found stale was told its state before that.
            earlier = (expected[0], before.get(execution.execution_id, ""))
            assert said in (list(expected[:2]), list(earlier))
            if expected[0] == "OK":
                # What a later one of this call found stale still waited before an earlier one.
                assert int(expected[2]) <= reply[2] <= int(expected[2]) + expired
                assert reply[3] == b"" if execution.state is State.SCHEDULED else float(reply[3]) == execution.score

    @rule(
        lane=lanes,
        count=st.integers(1, 4),
        lease_ms=st.sampled_from((0, 1_000, 30_000)),
        max_active=st.sampled_from((None, None, None, 0, 1, 3)),
        consumer=st.booleans(),
        times=deliveries,
    )
    def admit(self, lane: str, count: int, lease_ms: int, max_active: int | None, consumer: bool, times: int) -> None:
        override = "" if max_active is None else max_active
        _, more, wait_ms, raw = self.engine.tell(
            "admit", lane, count, lease_ms, override, int(consumer), deliveries=times
        )
        if consumer:
            self.oracle.note_consumer(lane)
        self.oracle.promote(PROMOTED_BY_ADMIT)
        self.oracle.reap(REAPED_BY_ADMIT)
        self.observe()
        grants = self.oracle.admit(lane, count, lease_ms, max_active)
        assert self.read_grants(raw) == grants
        assert more == 0
        if (
            len(grants) < count
            and f"lane:{lane}" not in self.oracle.paused_since
            and self.oracle.free_slots(max_active) > 0
        ):
            walked_over = [e for e in self.oracle.pending(lane) if self.oracle.is_open_to(e)]
            assert not walked_over, "something stale or lost was passed over and left to wait"
        timed = [e.due for e in self.oracle.in_state(State.SCHEDULED)]
        timed += [e.lease for e in self.oracle.in_state(State.RUNNING)]
        assert wait_ms == (int(max(0, min(timed) - self.oracle.now)) if timed else -1)
        self.max_active = max_active

    @rule(lane=lanes, count=st.integers(1, 4), tokens=st.integers(1, 2))
    def a_woken_consumer_asks(self, lane: str, count: int, tokens: int) -> None:
        for _ in range(tokens):
            self.engine.client.lpop(self.engine.scripts.keys.wake(lane))
        self.admit(lane, count, 30_000, None, True, 1)

    @rule(pick=picks, band=st.integers(0, 4), times=deliveries)
    def reprioritise(self, pick: int, band: int, times: int) -> None:
        name = self.some_id(pick)
        code, state = self.engine.tell("reprioritise", name, band, deliveries=times)
        assert (code.decode(), state.decode()) == self.oracle.reprioritise(name, band)

    @rule(pick=picks, times=deliveries)
    def remove(self, pick: int, times: int) -> None:
        name = self.some_id(pick)
        code, state = self.engine.tell("remove", name, deliveries=times)
        assert (code.decode(), state.decode()) == self.oracle.remove(name)

    @precondition(lambda self: bool(self.oracle.in_state(State.PENDING)))
    @rule(pick=picks)
    def the_payload_of_one_that_waits_is_lost(self, pick: int) -> None:
        waiting = self.oracle.pending()
        execution = waiting[pick % len(waiting)]
        keys = self.engine.scripts.keys
        self.engine.client.delete(keys.event(execution.execution_id), keys.message(execution.execution_id))
        execution.has_payload = False

    @rule(lane=lanes, band=st.integers(0, 4), user=st.sampled_from(USERS), pick=picks, times=deliveries)
    def bury(self, lane: str, band: int, user: str, pick: int, times: int) -> None:
        known = list(self.oracle.executions)
        name = known[pick % len(known)] if known and pick % 2 else f"e{len(known)}"
        kept = self.engine.tell(
            "bury", name, lane, band, "pod", user, "", 0, "", "payload", "", "full", deliveries=times
        )
        assert kept == int(name not in self.oracle.executions)
        if kept:
            self.oracle.executions[name] = Execution(name, lane, band, "pod", user, (), 0, State.FAILED, dead=True)
            self.buried.add(name)

    @precondition(lambda self: any(e.dead for e in self.oracle.executions.values()))
    @rule(pick=picks)
    def drop(self, pick: int) -> None:
        dead = [e for e in self.oracle.executions.values() if e.dead]
        execution = dead[pick % len(dead)]
        assert self.engine.tell("drop", execution.execution_id) == 1
        assert self.engine.tell("drop", execution.execution_id) == 0
        execution.dead = execution.has_payload = False

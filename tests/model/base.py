"""The engine and the naive model side by side: what every rule of the state machine needs, and the check after each."""

from typing import Any, Final

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from bandmaster.scheduler.states import State
from model.engine import Engine
from model.execution import Execution
from model.invariants import Invariants, left_behind
from model.oracle import Oracle

LANES: Final = ("executions", "mail")
ACTIONS: Final = ("pod", "resize")
USERS: Final = ("", "ann", "bob lee")
OWN_GATES: Final = ("tenant:1", "gpu", "licence")
GATES: Final = (*OWN_GATES, *(f"action:{a}" for a in ACTIONS), *(f"user:{u}" for u in USERS if u))
PAUSABLE: Final = (*GATES, *(f"lane:{lane}" for lane in LANES), "*", "*", "*")
ENDS: Final = (State.COMPLETED, State.FAILED, State.TIMEOUT)
DEFAULTS: Final = {"max_concurrent_executions": 10, "max_queue_size": 10_000, "max_executions_per_user": 100}

deliveries = st.sampled_from((1, 1, 1, 2, 3))
"""How often a call arrives: mostly once; again, if its reply was lost."""
lanes = st.sampled_from(LANES)
picks = st.integers(0, 40)
"""One of the executions, or of the grants, there are by then; small, so that failures shrink well."""

Grants = list[tuple[str, int, int]]


class ModelBase(RuleBasedStateMachine):
    """What the rules share."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__()
        client.flushdb()
        self.engine = Engine(client)
        self.oracle = Oracle(self.engine.clock.now_ms)
        self.checker = Invariants()
        self.given: list[tuple[str, int]] = []
        """Every grant ever made, as (id, attempt): most are stale."""
        self.buried: set[str] = set()
        self.max_active: int | None = None
        """What the last step gave in place of the setting."""
        self.one_step = True
        """Whether the last step made at most one transition of an execution."""

    def teardown(self) -> None:
        for execution in self.oracle.executions.values():
            if not execution.ended:
                self.engine.tell("remove", execution.execution_id)
            elif execution.dead:
                self.engine.tell("drop", execution.execution_id)
        dump = self.engine.dump()
        self.checker.check(dump)
        assert left_behind(dump) == {}

    def turn_clock(self, by_ms: int) -> None:
        """For the scripts and for the model."""
        self.engine.clock.turn(by_ms)
        self.oracle.now = self.engine.clock.now_ms

    def some_id(self, pick: int) -> str:
        """Of an execution that was accepted, or now and then of none."""
        known = list(self.oracle.executions)
        return known[pick % len(known)] if known and pick % 11 else "unheard-of"

    def some_grant(self, pick: int) -> tuple[str, int]:
        """One that was made: mostly a current one, or one that a later attempt has overtaken."""
        if not self.given:
            return "unheard-of", 1
        current = [(e.execution_id, e.attempt) for e in self.oracle.executions.values() if e.holds]
        overtaken = [(name, attempt - 1) for name, attempt in current if attempt > 1]
        chosen = (current, current, overtaken, self.given)[pick % 4] or self.given
        return chosen[pick % len(chosen)]

    def observe(self) -> list[str]:
        """Let the model follow what the scripts ended on their own; returns all verbs since the last step."""
        entries = self.engine.new_journal()
        for entry in entries:
            if entry["verb"] in ("expire", "lose"):
                self.oracle.ended_by_script(entry["id"], entry["verb"])
        return [entry["verb"] for entry in entries]

    def read_grants(self, raw: list[list[Any]]) -> Grants:
        """As the model gives them; each comes with its payload."""
        for execution_id, _, _, event, message in raw:
            assert (event + message).startswith(b"payload"), f"{execution_id} was granted without its payload"
        grants = [(execution_id.decode(), attempt, lease_ms) for execution_id, attempt, lease_ms, _, _ in raw]
        self.given += [(execution_id, attempt) for execution_id, attempt, _ in grants]
        return grants

    def agree_on_following(self, lane: str, count: int, lease_ms: int, raw: list[list[Any]]) -> None:
        """What a release admitted is what the naive rule admits; fewer only if another live lane may be better."""
        grants = self.read_grants(raw)
        live = [other for other in LANES if other != lane and self.oracle.is_live(other)]
        others_best = min((e.order for other in live for e in self.oracle.eligible(other)), default=None)
        assert grants == self.oracle.admit(lane, len(grants), lease_ms)
        if grants and others_best is not None:
            last = self.oracle.executions[grants[-1][0]]
            assert last.order < others_best, "a lane that had a better candidate was passed over"
        left_over = self.oracle.admissible(lane) if len(grants) < count else []
        if left_over:
            others = [e.order for other in live for e in self.oracle.pending(other)]
            assert min(others, default=left_over[0].order) < left_over[0].order, "a slot was left free for nobody"

    @invariant()
    def engine_and_model_agree(self) -> None:
        """After every step."""
        self.observe()
        dump = self.engine.dump()
        self.checker.check(dump, max_active=self.max_active, one_step=self.one_step)
        self.max_active, self.one_step = None, True
        metas = dump.metas()
        assert metas.keys() == self.oracle.executions.keys()
        for execution_id, execution in self.oracle.executions.items():
            meta = metas[execution_id]
            expected = {
                "state": execution.state,
                "band": str(execution.band),
                "attempt": str(execution.attempt),
                "crashes": str(execution.crashes),
            }
            assert {name: meta.get(name, "0") for name in expected} == expected, execution_id
            has_payload = f"event:{execution_id}" in dump.keys or f"message:{execution_id}" in dump.keys
            assert has_payload == execution.has_payload
        assert dump["pending"].zset == {e.execution_id: e.score for e in self.oracle.pending()}
        assert dump["scheduled"].zset == {e.execution_id: e.due for e in self.oracle.in_state(State.SCHEDULED)}
        assert dump["lease"].zset == _leases(self.oracle.in_state(State.RUNNING))
        assert dump["lease:pods"].zset == _leases(self.oracle.in_state(State.POD, State.CANCELLING))
        assert dump["dead"].set - {*dump["dead"].parts[1::2]} == {
            e.execution_id for e in self.oracle.executions.values() if e.dead
        }
        for action in ACTIONS:
            own = [
                e for e in self.oracle.executions.values() if e.action == action and e.execution_id not in self.buried
            ]
            statistics = dump[f"action:{action}:stats"].hash
            assert int(statistics.get("total_enqueued", 0)) == len(own)
            assert int(statistics.get("total_completed", 0)) == sum(e.ended for e in own)


def _leases(executions: list[Execution]) -> dict[str, float]:
    return {e.execution_id: float(e.lease) for e in executions}

"""The engine and the naive model side by side: what every rule of the state machine needs, and the check after each."""

from collections import Counter
from typing import Final

import redis
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant

from bandmaster.scheduler.model.states import State
from model.clock import START_MS
from model.dump import Dump
from model.engine import Engine
from model.execution import Execution
from model.indexes import key_of, shares_in
from model.invariants import Invariants, left_behind
from model.oracle import Oracle

LANES: Final = ("executions", "mail")
ACTIONS: Final = ("pod", "resize")
USERS: Final = ("", "ann", "bob lee")
BY: Final = "an operator"
OWN_GATES: Final = ("tenant:1", "tenant:2", "tenant:Acme Corp", "gpu")
KINDS: Final = ("tenant:*", "tenant:*", "action:*", "user:*")
GATES: Final = (*OWN_GATES, *(f"action:{a}" for a in ACTIONS), *(f"user:{u}" for u in USERS if u))
PAUSABLE: Final = (*GATES, *(f"lane:{lane}" for lane in LANES), "*", "*", "*")
ENDS: Final = (State.COMPLETED, State.FAILED, State.TIMEOUT)

deliveries = st.sampled_from((1, 1, 1, 2, 3))
"""How often a call arrives: mostly once; again, if its reply was lost."""
lanes = st.sampled_from(LANES)
holders = st.sampled_from(("", "the grant", "the grant", "another's", "pod:uid-1", "pod:uid-2"))
"""How a caller names itself beside the attempt."""
picks = st.integers(0, 40)
"""One of the executions, or of the grants, there are by then; small, so that failures shrink well."""

Grants = list[tuple[str, int, str, int]]


class ModelBase(RuleBasedStateMachine):
    """What the rules share."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__()
        client.flushdb()
        self.oracle = Oracle(START_MS)
        self.engine = Engine(client, self.oracle.note_call)
        self.oracle.before_place = self.observe_before
        self.checker = Invariants()
        self.given: list[tuple[str, int]] = []
        """Every grant ever made, as (id, attempt): most are stale."""
        self.buried: set[str] = set()
        self.declarations = 0
        self.forgotten: Counter[str] = Counter()
        """Of each action, how many that nothing is known of any more."""
        self.ended_and_forgotten: Counter[str] = Counter()
        self.dropped: dict[str, tuple[int, int]] = {}
        """Of each action, how many were accepted and had ended when its statistics were dropped."""
        self.max_active: int | None = None
        """What the last step gave in place of a lane's bound."""
        self._unobserved: list[dict[str, str]] = []
        """Entries of which only the dropped letters were taken over."""
        self._followed: list[dict[str, str]] = []
        """Entries that the model has followed in the middle of a step."""
        self.one_step = True
        """Whether the last step made at most one transition of an execution."""

    def teardown(self) -> None:
        for execution in self.oracle.executions.values():
            if not execution.ended:
                self.engine.tell("remove", execution.execution_id, 0, BY)
            elif execution.dead_at is not None:
                self.engine.tell("drop", execution.execution_id, BY)
        dump = self.engine.dump()
        self.checker.check(dump)
        assert left_behind(dump, self.checker.lost) == {}

    def turn_clock(self, by_ms: int) -> None:
        """For the scripts and for the model."""
        self.engine.clock.turn(by_ms)
        self.oracle.now = self.engine.clock.now_ms
        self.oracle.went_back |= by_ms < 0

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

    def forget(self, execution: Execution) -> None:
        """Nothing is known of it any more."""
        del self.oracle.executions[execution.execution_id]
        self.checker.forget(execution.execution_id)
        self.given = [grant for grant in self.given if grant[0] != execution.execution_id]
        if execution.execution_id in self.buried:
            self.buried.remove(execution.execution_id)
            return
        self.forgotten[execution.action] += 1
        self.ended_and_forgotten[execution.action] += execution.ended

    def observe_letters(self) -> None:
        """Let the model follow which dead letters the scripts dropped because their time was over."""
        entries = self.engine.new_journal()
        for entry in entries:
            if entry["verb"] == "drop" and entry.get("reason") == "dead_message_ttl":
                self.oracle.dropped_by_script(entry["id"])
        self._unobserved += entries

    def count_unobserved(self, verb: str) -> int:
        """How many entries of a verb the model has not followed yet."""
        self.observe_letters()
        return [entry["verb"] for entry in self._unobserved].count(verb)

    def observe(self) -> list[str]:
        """Let the model follow what the scripts ended, or let rise, on their own; all verbs since the last step."""
        self.observe_letters()
        self._follow(len(self._unobserved))
        entries, self._followed = self._followed, []
        return [entry["verb"] for entry in entries]

    def observe_before(self, verbs: tuple[str, ...], names: tuple[str, ...]) -> None:
        """Let the model follow what the scripts ended before they did that: a tag depends on what waits then."""
        self.observe_letters()
        found = (n for n, each in enumerate(self._unobserved) if each["verb"] in verbs and each["id"] in names)
        self._follow(next(found, len(self._unobserved) if "park" in verbs else 0))

    def _follow(self, count: int) -> None:
        entries, self._unobserved = self._unobserved[:count], self._unobserved[count:]
        for entry in entries:
            if entry["verb"] in ("expire", "lose"):
                self.oracle.ended_by_script(entry["id"], entry["verb"])
            if entry.get("reason") == "aged":
                self.oracle.raised_by_script(entry["id"], int(entry["band"]))
        self._followed += entries

    def named(self, execution_id: str, holder: str) -> str:
        """How a holder is given to a script: the grant's own nonce, or what `holder` says."""
        execution = self.oracle.executions.get(execution_id)
        return execution.nonce if holder == "the grant" and execution else holder

    @invariant()
    def engine_and_model_agree(self) -> None:
        """After every step."""
        self.observe()
        dump = self.engine.dump()
        self.checker.check(dump, max_active=self.max_active, one_step=self.one_step)
        self.max_active, self.one_step = None, True
        known = dump.known()
        assert known.keys() == self.oracle.executions.keys()
        for execution_id, execution in self.oracle.executions.items():
            meta = known[execution_id]
            expected = {"state": execution.state, "attempt": str(execution.attempt)}
            if execution.has_record:
                expected |= {"band": str(execution.band), "crashes": str(execution.crashes)}
                sent = {name.removeprefix("sent:") for name in meta if name.startswith("sent:")}
                assert sent == execution.sent
            assert {name: meta.get(name, "0") for name in expected} == expected, execution_id
            assert (f"event:{execution_id}" in dump.keys) == execution.has_event
            assert (f"message:{execution_id}" in dump.keys) == execution.has_message
        for lane in LANES:
            waiting = {e.execution_id: e.score for e in self.oracle.pending((lane,))}
            assert dump[key_of(lane, "pending")].zset == waiting
        self.agree_on_deadlines(dump)
        self.agree_on_ageing(dump)
        assert shares_in(dump) == self.oracle.fair.shares()
        self.agree_on_unique_keys(dump)
        assert dump["scheduled"].zset == {e.execution_id: e.due for e in self.oracle.in_state(State.SCHEDULED)}
        assert dump["lease"].zset == _leases(self.oracle.in_state(State.RUNNING))
        assert dump["lease:pods"].zset == _leases(self.oracle.in_state(State.POD, State.CANCELLING))
        everything = self.oracle.executions.values()
        assert dump["dead"].zset == {e.execution_id: e.dead_at for e in everything if e.dead_at is not None}
        for lane in LANES:
            posted = {e.execution_id: e.untold_from for e in self.oracle.posted(lane)}
            assert dump[f"lane:{lane}:outbox"].zset == posted
        for action in ACTIONS:
            statistics = dump[f"action:{action}:stats"].hash
            assert (
                int(statistics.get("total_enqueued", 0)),
                int(statistics.get("total_completed", 0)),
            ) == self.counted(action)

    def counted(self, action: str) -> tuple[int, int]:
        """How many of an action were accepted, and how many ended, since its statistics were dropped."""
        own = [e for e in self.oracle.executions.values() if e.action == action and e.execution_id not in self.buried]
        accepted, ended = self.dropped.get(action, (0, 0))
        return (
            len(own) + self.forgotten[action] - accepted,
            sum(e.ended for e in own) + self.ended_and_forgotten[action] - ended,
        )

    def agree_on_deadlines(self, dump: Dump) -> None:
        """What may have waited too long is indexed, no later than that; nothing else is, but where a lane's timeout was
        changed and nobody has swept since.
        """
        deadlines, settings = dump["deadlines"].zset, dump["settings"].hash
        for execution in self.oracle.pending():
            if key_of(execution.lane, "deadlines_from") in settings:
                continue
            found, last = deadlines.get(execution.execution_id), self.oracle.last_start(execution)
            assert (found is None) == (last is None), execution.execution_id
            assert found is None or last is None or found <= last or self.oracle.went_back
        assert deadlines.keys() <= {e.execution_id for e in self.oracle.pending()}

    def agree_on_ageing(self, dump: Dump) -> None:
        """What rises some time is indexed by when; nothing else is, but where a lane's setting was just changed."""
        entries, settings = dump["ageing"].zset, dump["settings"].hash
        for execution in self.oracle.pending():
            if key_of(execution.lane, "deadlines_from") not in settings:
                found, at = entries.get(execution.execution_id), self.oracle.rises_at(execution)
                is_earlier = found is not None and at is not None and found < at and self.oracle.went_back
                assert found == at or is_earlier, execution.execution_id
        assert entries.keys() <= {e.execution_id for e in self.oracle.pending()}

    def nothing_is_overdue(self) -> None:
        """After a repair: what had waited long enough has risen, but where a lane is still to be indexed anew."""
        if overdue := self.oracle.overdue():
            settings = self.engine.dump()["settings"].hash
            assert all(key_of(each.lane, "deadlines_from") in settings for each in overdue)

    def agree_on_unique_keys(self, dump: Dump) -> None:
        """A key names the one that took it last, and is there as long as that one keeps others out."""
        last = {key: execution.execution_id for key, execution, _ in self.oracle.took}
        named = {key.removeprefix("unique:"): key for key in dump.keys if key.startswith("unique:")}
        assert {key: dump[named[key]].parts[0].split()[0] for key in named} == {key: last[key] for key in named}
        assert {key for key in last if self.oracle.having_key(key)} <= named.keys()


def _leases(executions: list[Execution]) -> dict[str, float]:
    return {"\n".join([e.execution_id, e.lane, *e.gates]): float(e.lease) for e in executions}

"""One call of exchange beside the naive rules: what is settled, one after the other; repairs; what is admitted.

Each rule that settles or admits makes its call here, a single settlement as a batch of one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from bandmaster.scheduler.engine.grants import Admission, read_exchange
from bandmaster.scheduler.engine.settlements import Settlement
from bandmaster.scheduler.model.states import State
from model.base import LANES, Grants, ModelBase
from model.execution import Execution

LEASE_MS: Final = 30_000


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a call wants to be admitted."""

    lanes: tuple[str, ...] = ()
    count: int = 0
    lease_ms: int = LEASE_MS
    max_active: int | None = None
    """In place of the lane's bound; of one lane, and a count above 0."""
    asks: bool = False
    """Live consumers of these lanes ask."""


class Exchanging(ModelBase):
    """What all rules share that make such a call."""

    def exchange(self, settlements: Sequence[Settlement], wanted: Wanted, times: int) -> None:
        """Make the call, which arrives `times` times, and have the model do the same."""
        raw = self.engine.tell(
            "exchange",
            wanted.count,
            wanted.lease_ms,
            "" if wanted.max_active is None else wanted.max_active,
            int(wanted.asks),
            "\n".join(wanted.lanes),
            *(argument for each in settlements for argument in each.arguments),
            deliveries=times,
        )
        answer = read_exchange(raw)
        assert not answer.failures
        expected = [self.oracle.settle(each) for each in settlements]
        assert [(outcome.code.value, outcome.state or "") for outcome in answer.outcomes] == expected
        if wanted.asks:
            self.oracle.note_consumers(wanted.lanes)
        self.observe_letters()  # before the repairs make more of them
        is_told_when = wanted.asks or not settlements
        if is_told_when:
            self.oracle.repair()
        else:
            self.oracle.repair_now_and_then()
        self.observe()
        if is_told_when:
            self.nothing_is_overdue()
        if settlements:
            self.one_step = False  # one that came back may be one of those that follow: two transitions in one call
            self.agree_on_following(wanted, answer.admission)
        else:
            self.agree_on_admission(wanted, answer.admission)
        assert answer.admission.wait_ms == (self.next_ms(wanted.lanes) if is_told_when else None)
        assert answer.admission.untold == (wanted.asks and any(self.oracle.untold(lane) for lane in wanted.lanes))
        self.max_active = wanted.max_active

    def agree_on_admission(self, wanted: Wanted, admission: Admission) -> None:
        """Nothing was settled: what is admitted is what the naive rule admits."""
        grants = self.noted(admission)
        assert grants == self.oracle.admit(wanted.lanes, wanted.count, wanted.lease_ms, wanted.max_active)
        if wanted.count == 0:
            # What waits behind a gate is a candidate until it was found closed.
            is_useful = self.oracle.has_slots() and self.candidates(wanted)
            assert admission.more or not self.oracle.admissible(wanted.lanes), "a thread could be used"
            assert not admission.more or is_useful, "nobody waits for a thread"
            return
        assert not admission.more
        self.nothing_was_passed_over(wanted, grants)

    def agree_on_following(self, wanted: Wanted, admission: Admission) -> None:
        """What a settlement admits is what the naive rule admits, up to the first that another live lane may have a
        better one than; what comes after that is said to be there.
        """
        others = tuple(lane for lane in LANES if lane not in wanted.lanes and self.oracle.is_live(lane))
        others = self.oracle.with_slots(others)
        bests = {e.lane: self.oracle.fair.claim(e) for e in reversed(self.oracle.eligible(others))}
        others_best = min(bests.values(), default=None)
        grants = self.noted(admission)
        assert grants == self.oracle.admit(wanted.lanes, len(grants), wanted.lease_ms, wanted.max_active)
        assert len(grants) <= wanted.count
        if grants and others_best is not None:
            last = self.oracle.executions[grants[-1][0]]
            assert self.oracle.fair.claim(last) < others_best, "a lane that had a better candidate was passed over"
        if len(grants) == wanted.count:
            assert not admission.more
            return
        claim = self.oracle.fair.claim
        better = [claim(e) for e in self.oracle.pending(others)]
        left_over = self.oracle.admissible(wanted.lanes, wanted.max_active)
        assert admission.more or not left_over, "a thread is left free, and nobody says that it could be used"
        if left_over:
            assert min(better, default=claim(left_over[0])) < claim(left_over[0]), "a slot was left free for nobody"
        if admission.more:
            assert self.oracle.has_slots(), "nobody may start"
            last_order = max((claim(e) for e in self.candidates(wanted)), default=None)
            assert last_order is not None, "nobody waits for a thread"
            assert min(better, default=last_order) < last_order, "nothing comes after another lane's"
        else:
            self.nothing_was_passed_over(wanted, grants)

    def candidates(self, wanted: Wanted) -> list[Execution]:
        """What waits in these lanes where they are not paused and have slots, whatever its gates say."""
        unpaused = tuple(lane for lane in wanted.lanes if f"lane:{lane}" not in self.oracle.paused_since)
        return self.oracle.pending(self.oracle.with_slots(unpaused, wanted.max_active))

    def nothing_was_passed_over(self, wanted: Wanted, grants: Grants) -> None:
        """Where threads are left free, nothing is left that was stale or lost."""
        if len(grants) < wanted.count and self.oracle.has_slots():
            passed = [e for e in self.candidates(wanted) if self.oracle.is_open_to(e)]
            assert not passed, "something stale or lost was passed over and left to wait"

    def noted(self, admission: Admission) -> Grants:
        """The grants as the model gives them; each comes with its payload."""
        grants: Grants = []
        for grant in admission.grants:
            payload = (grant.event or b"") + (grant.message or b"")
            assert payload.startswith(b"payload"), f"{grant.execution_id} was granted without its payload"
            self.oracle.executions[grant.execution_id].nonce = grant.nonce
            grants.append((grant.execution_id, grant.attempt, grant.lane, grant.lease_ms))
        self.given += [(execution_id, attempt) for execution_id, attempt, _, _ in grants]
        return grants

    def next_ms(self, lanes: tuple[str, ...]) -> int | None:
        """Until the next is due, a thread's lease ends, or a rate opens a gate (`indexes.py` checks when)."""
        timed = [e.due - self.oracle.now for e in self.oracle.in_state(State.SCHEDULED)]
        timed += [e.lease - self.oracle.lease_now for e in self.oracle.in_state(State.RUNNING)]
        later = self.engine.dump()["later"].zset
        timed += [later[lane] - self.oracle.now for lane in lanes if lane in later]
        return int(max(0, min(timed))) if timed else None

"""Rules of the state machine: what is done under a grant, current or stale, and what arrives late."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from bandmaster.scheduler.engine.settlements import Release, Retry
from bandmaster.scheduler.model.states import State
from model.base import BY, LANES, deliveries, holders, picks
from model.batch_rules import BatchRules, releases, retries
from model.exchanging import Wanted

following = st.builds(
    Wanted, lanes=st.sampled_from((*((lane,) for lane in LANES), LANES)), count=st.sampled_from((0, 1, 2))
)
"""What a settlement admits in the same call."""


def has_granted(machine: "GrantRules") -> bool:
    """Whether there was a grant to act under."""
    return bool(machine.given)


class GrantRules(BatchRules):
    """Releases, retries, renewals, hand-overs, cancellations."""

    @precondition(has_granted)
    @rule(pick=picks, release=releases, follow=following, times=deliveries)
    def release(self, pick: int, release: Release, follow: Wanted, times: int) -> None:
        self.exchange([self.settlement_of(*self.some_grant(pick), release)], follow, times)

    @precondition(has_granted)
    @rule(pick=picks, retry=retries, follow=following, times=deliveries)
    def retry(self, pick: int, retry: Retry, follow: Wanted, times: int) -> None:
        self.exchange([self.settlement_of(*self.some_grant(pick), retry)], follow, times)

    @precondition(has_granted)
    @rule(
        chosen=st.lists(st.tuples(picks, holders), min_size=1, max_size=4), lease_ms=st.sampled_from((0, 1_000, 45_000))
    )
    def renew(self, chosen: list[tuple[int, str]], lease_ms: int) -> None:
        grants: list[tuple[str, int, str]] = []
        for pick, holder in chosen:
            name, attempt = self.some_grant(pick)
            grants.append((name, attempt, self.named(name, holder)))
        answers = self.engine.tell("renew", lease_ms, *(part for grant in grants for part in grant))
        assert [answer.decode() for answer in answers] == [self.oracle.renew(*grant, lease_ms) for grant in grants]

    @precondition(has_granted)
    @rule(pick=picks, holder=holders, uid=st.sampled_from(("uid-1", "uid-2")), times=deliveries)
    def hand_over(self, pick: int, holder: str, uid: str, times: int) -> None:
        name, attempt = self.some_grant(pick)
        holder = self.named(name, holder)
        code, state, wanted = self.engine.tell("hand_over", name, attempt, holder, "a-pod", uid, deliveries=times)
        assert (code.decode(), state.decode(), wanted) == self.oracle.hand_over(name, attempt, holder, uid)

    @precondition(lambda self: any(e.holds for e in self.oracle.executions.values()))
    @rule(pick=picks)
    def the_record_of_one_that_holds_a_slot_is_lost(self, pick: int) -> None:
        holding = [e for e in self.oracle.executions.values() if e.holds]
        execution = holding[pick % len(holding)]
        self.engine.client.delete(self.engine.scripts.keys.meta(execution.execution_id))
        assert self.engine.tell("forget", "\n".join([execution.execution_id, execution.lane, *execution.gates])) == 1
        self.forget(execution)

    @rule(
        pick=picks,
        who=st.sampled_from(("anyone", "whoever is granted", "this grant")),
        outcome=st.sampled_from((State.CANCELLED, State.TIMEOUT)),
        among=st.sampled_from((None, (State.PENDING,), (State.SCHEDULED, State.POD))),
        times=deliveries,
    )
    def cancel(self, pick: int, who: str, outcome: State, among: tuple[State, ...] | None, times: int) -> None:
        name, attempt = self.some_grant(pick)
        if who == "anyone":
            name = self.some_id(pick)
        under = attempt if who == "this grant" else None
        states = "" if among is None else f" {' '.join(among)} "
        answer = self.engine.tell(
            "cancel", name, outcome, "asked", "" if under is None else under, BY, states, deliveries=times
        )
        code, state, current, _, uid = answer
        expected = self.oracle.cancel(name, outcome, under, among)
        assert (code.decode(), state.decode(), int(current), uid.decode()) == expected

    @precondition(lambda self: bool(self.engine.sent))
    @rule(pick=st.integers(0, 200))
    def a_call_arrives_late(self, pick: int) -> None:
        self.engine.deliver_late(pick)

"""Rules of the state machine: what is done under a grant, current or stale, and what arrives late."""

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from bandmaster.scheduler.states import State
from model.base import ENDS, LANES, ModelBase, deliveries, picks

following = st.sampled_from((("", 0), *((lane, count) for lane in LANES for count in (1, 2))))
"""What a settlement admits in the same call."""
FOLLOWING_LEASE_MS = 30_000


def has_granted(machine: "GrantRules") -> bool:
    """Whether there was a grant to act under."""
    return bool(machine.given)


class GrantRules(ModelBase):
    """Releases, retries, renewals, hand-overs, cancellations."""

    @precondition(has_granted)
    @rule(
        pick=picks,
        current=st.booleans(),
        state=st.sampled_from(ENDS),
        result=st.sampled_from(("", "{}")),
        only=st.sampled_from(("", State.RUNNING)),
        dead=st.booleans(),
        follow=following,
        times=deliveries,
    )
    def release(
        self,
        pick: int,
        current: bool,
        state: State,
        result: str,
        only: str,
        dead: bool,
        follow: tuple[str, int],
        times: int,
    ) -> None:
        name, attempt = self.some_grant(pick)
        dead = dead and state is State.FAILED
        answer = self.engine.tell(
            "release",
            name,
            "" if current else attempt,
            state,
            "why",
            result,
            only,
            int(dead),
            *follow,
            FOLLOWING_LEASE_MS,
            deliveries=times,
        )
        expected = self.oracle.release(name, None if current else attempt, state, only=only, dead=dead)
        self.observe()
        assert (answer[0].decode(), answer[1].decode()) == expected
        self.agree_on_following(*follow, FOLLOWING_LEASE_MS, answer[2])

    @precondition(has_granted)
    @rule(
        pick=picks,
        kind=st.sampled_from(("retry", "hand_back", "infrastructure")),
        delay_ms=st.sampled_from((0, 0, 1, 900, 20_000)),
        message=st.sampled_from(("", "payload, again")),
        follow=following,
        times=deliveries,
    )
    def retry(self, pick: int, kind: str, delay_ms: int, message: str, follow: tuple[str, int], times: int) -> None:
        name, attempt = self.some_grant(pick)
        answer = self.engine.tell(
            "retry", name, attempt, kind, delay_ms, "why", message, b"", *follow, FOLLOWING_LEASE_MS, deliveries=times
        )
        expected = self.oracle.retry(name, attempt, kind, delay_ms, message=bool(message))
        self.observe()
        assert (answer[0].decode(), answer[1].decode()) == expected
        # One that came back may be the one that follows: two transitions in one call.
        self.one_step = False
        self.agree_on_following(*follow, FOLLOWING_LEASE_MS, answer[2])

    @precondition(has_granted)
    @rule(chosen=st.lists(picks, min_size=1, max_size=4), lease_ms=st.sampled_from((0, 1_000, 45_000)))
    def renew(self, chosen: list[int], lease_ms: int) -> None:
        grants = [self.some_grant(pick) for pick in chosen]
        answers = self.engine.tell("renew", lease_ms, *(part for grant in grants for part in grant))
        assert [answer.decode() for answer in answers] == [self.oracle.renew(*grant, lease_ms) for grant in grants]

    @precondition(has_granted)
    @rule(pick=picks, uid=st.sampled_from(("uid-1", "uid-2")), times=deliveries)
    def hand_over(self, pick: int, uid: str, times: int) -> None:
        name, attempt = self.some_grant(pick)
        code, state = self.engine.tell("hand_over", name, attempt, "a-pod", uid, deliveries=times)
        assert (code.decode(), state.decode()) == self.oracle.hand_over(name, attempt, uid)

    @rule(
        pick=picks,
        who=st.sampled_from(("anyone", "whoever is granted", "this grant")),
        outcome=st.sampled_from((State.CANCELLED, State.TIMEOUT)),
        times=deliveries,
    )
    def cancel(self, pick: int, who: str, outcome: State, times: int) -> None:
        name, attempt = self.some_grant(pick)
        if who == "anyone":
            name = self.some_id(pick)
        under = attempt if who == "this grant" else None
        answer = self.engine.tell("cancel", name, outcome, "asked", "" if under is None else under, deliveries=times)
        code, state, current, _, uid = answer
        assert (code.decode(), state.decode(), int(current), uid.decode()) == self.oracle.cancel(name, outcome, under)

    @precondition(lambda self: bool(self.engine.sent))
    @rule(pick=st.integers(0, 200))
    def a_call_arrives_late(self, pick: int) -> None:
        self.engine.deliver_late(pick)

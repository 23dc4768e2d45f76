"""Rules of the state machine: many settlements in one call, of any mixture, and what is admitted with them."""

from dataclasses import dataclass, replace
from typing import Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from bandmaster.scheduler.engine.settlements import Release, Retry, RetryKind, Settlement
from bandmaster.scheduler.model.states import State
from model.base import ENDS, LANES, deliveries, holders, picks
from model.exchanging import LEASE_MS, Exchanging, Wanted

MOST: Final = 6
"""Settlements in one call of a game."""
RETRY_KINDS: Final[tuple[RetryKind, ...]] = ("retry", "requeue", "hand_back", "infrastructure")
DELAYS_MS: Final = (0, 0, 1, 900, 20_000)

releases = st.builds(
    Release,
    execution_id=st.just(""),
    attempt=st.sampled_from((None, 0)),
    state=st.sampled_from(ENDS),
    holder=holders,
    reason=st.just("why"),
    result=st.sampled_from((b"", b"{}")),
    only=st.sampled_from((None, State.RUNNING)),
    dead=st.booleans(),
)
"""Ends of whatever is chosen when they are used; those that give an attempt give that of the chosen grant."""
retries = st.builds(
    Retry,
    execution_id=st.just(""),
    attempt=st.just(0),
    kind=st.sampled_from(RETRY_KINDS),
    holder=holders,
    delay_ms=st.sampled_from(DELAYS_MS),
    reason=st.just("why"),
    message=st.sampled_from((b"", b"payload, again")),
)
"""The same, to wait again."""
some_wanted = st.builds(
    Wanted,
    lanes=st.sampled_from(((), *((lane,) for lane in LANES), LANES, LANES[::-1])),
    count=st.integers(0, 4),
    lease_ms=st.sampled_from((0, 1_000, LEASE_MS)),
    max_active=st.sampled_from((None, None, None, 0, 1, 3)),
    asks=st.booleans(),
).map(lambda wanted: wanted if len(wanted.lanes) == 1 and wanted.count else replace(wanted, max_active=None))


@dataclass(frozen=True, slots=True)
class Chosen:
    """One settlement of a batch."""

    whose: str
    pick: int
    settlement: Settlement


some_chosen = st.builds(
    Chosen,
    whose=st.sampled_from(("a grant", "a grant", "a grant", "the same again", "anyone")),
    pick=picks,
    settlement=st.one_of(releases, retries),
)


class BatchRules(Exchanging):
    """What ended while a call was under way goes together in the next one."""

    @rule(chosen=st.lists(some_chosen, max_size=MOST), wanted=some_wanted, times=deliveries)
    def settle_many(self, chosen: list[Chosen], wanted: Wanted, times: int) -> None:
        name, attempt = "unheard-of", 1
        settlements: list[Settlement] = []
        for each in chosen:
            if each.whose == "a grant":
                name, attempt = self.some_grant(each.pick)
            elif each.whose == "anyone":
                name, attempt = self.some_id(each.pick), 1
            settlements.append(self.settlement_of(name, attempt, each.settlement))
        self.exchange(settlements, wanted, times)

    @rule(
        own=st.sampled_from(LANES),
        ending=st.integers(1, MOST),
        count=st.integers(1, 4),
        max_active=st.sampled_from((None, None, 0, 1)),
        times=deliveries,
    )
    def threads_end_while_another_process_consumes_the_other_lane(
        self, own: str, ending: int, count: int, max_active: int | None, times: int
    ) -> None:
        self.exchange((), Wanted(tuple(lane for lane in LANES if lane != own), asks=True), 1)
        self.engine_and_model_agree()
        ended = self.oracle.in_state(State.RUNNING)[:ending]
        settlements = [Release(each.execution_id, each.attempt, State.COMPLETED, each.nonce) for each in ended]
        self.exchange(settlements, Wanted((own,), count, max_active=max_active), times)

    def settlement_of(self, name: str, attempt: int, settlement: Settlement) -> Settlement:
        """What was drawn, of this grant."""
        holder = self.named(name, settlement.holder)
        if isinstance(settlement, Retry):
            return replace(settlement, execution_id=name, attempt=attempt, holder=holder)
        given = None if settlement.attempt is None else attempt
        dead = settlement.dead and settlement.state is State.FAILED
        return replace(settlement, execution_id=name, attempt=given, holder=holder, dead=dead)

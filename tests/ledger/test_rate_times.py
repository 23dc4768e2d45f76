"""When a rate kept a gate closed is told from past grants as a gate that is asked each millisecond tells it."""

from dataclasses import dataclass, field
from random import Random

import pytest

from bandmaster.ledger.waits.attributing import Step
from bandmaster.ledger.waits.rate_times import STEP_MS, kept_closed
from bandmaster.ledger.waits.spans import Span
from bandmaster.scheduler.model.rates import Rate

RATES = tuple(Rate.read(text) for text in ("1/7ms", "2/30ms burst 2", "1/40ms", "3/70ms burst 4", "1/200ms"))
BEGIN_MS, END_MS = 100, 700


@dataclass
class Gate:
    """A gate as Redis keeps it, asked at each millisecond, with the chances of one seed."""

    random: Random
    wait: Span
    time_ms: float = 0.0
    rate: Rate | None = None
    steps: list[Step[Rate]] = field(default_factory=list[Step[Rate]])
    grants: list[int] = field(default_factory=list[int])
    closed: set[int] = field(default_factory=set[int])

    def live(self) -> None:
        wishes = self.random.choice((0.05, 0.5, 0.9))
        for now_ms in range(BEGIN_MS, END_MS):
            if now_ms == BEGIN_MS or self.random.random() < 0.006:
                self.rate = self.random.choice((None, *RATES))
                self.steps.append(Step(now_ms, self.rate))
                if self.wait.since_ms <= now_ms or self.random.random() < 0.5:
                    self._look(now_ms)
            if now_ms == self.wait.since_ms:
                self._look(now_ms)
            # Whoever waits for what else there is comes through as well.
            if self.random.random() < wishes and not self._is_closed(now_ms):
                self.grants.append(now_ms)
                self._look(now_ms)
                if self.rate is not None:
                    self.time_ms = max(float(now_ms), self.time_ms) + self.rate.interval_ms
            if self.wait.since_ms <= now_ms < self.wait.until_ms and self._is_closed(now_ms):
                self.closed.add(now_ms)

    def _look(self, now_ms: int) -> None:
        if self.rate is not None:
            self.time_ms = min(self.time_ms, now_ms + self.rate.burst * self.rate.interval_ms)

    def _is_closed(self, now_ms: int) -> bool:
        if self.rate is None:
            return False
        return (now_ms + STEP_MS - self.time_ms) / self.rate.interval_ms + self.rate.burst < 1


@pytest.mark.parametrize(("read", "known"), [(None, 120), (30, 100), (8, 70), (2, 50)])
def test_what_is_said_to_be_known_is_right_however_few_grants_are_read(read: int | None, known: int) -> None:
    exact = said = 0
    for seed in range(150):
        gate = Gate(Random(seed), Span(400, 600))
        gate.live()
        before = [each for each in gate.grants if each < 400]
        some = before if read is None else before[-read:]
        within = [each for each in gate.grants if 400 <= each < 600]
        first_ms = some[0] if some else 400
        # The rate from then on.
        in_force = [step for step in gate.steps if step.at_ms <= first_ms][-1]
        steps = [Step(first_ms, in_force.value), *(step for step in gate.steps if first_ms < step.at_ms < 600)]
        kept = kept_closed(steps, [*some, *within], gate.wait, are_all=len(some) == len(before))
        told = {ms for span in kept.spans for ms in range(*span)}
        assert not kept.is_exact or told == gate.closed, seed
        exact += kept.is_exact
        said += bool(told)
    assert said > 60
    assert exact > known


def test_of_a_gate_that_was_used_to_the_full_the_estimate_is_late_by_less_than_its_slack() -> None:
    rate = Rate.read("1/10ms burst 50")
    # After a rest fifty come at once, then one as soon as it may; hundreds later nobody reads the rest any more.
    grants = [1_000] * 50 + list(range(1_010, 8_001, 10))
    wait = Span(8_001, 8_095)
    kept = kept_closed([Step(0, rate)], grants, wait, are_all=True)
    assert kept.is_exact
    assert kept.spans == [Span(8_001, 8_010)]
    some = kept_closed([Step(0, rate)], grants[-150:], wait, are_all=False)
    assert not some.is_exact
    assert some.spans == kept.spans

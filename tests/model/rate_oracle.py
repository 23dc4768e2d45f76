"""The naive model of rates: when each grant through a gate was made counts, by one time a gate (GCRA)."""

import math

from bandmaster.scheduler.model.rates import Rate
from model.lease_clock import LeaseClock

STEP_MS = 1 / 1024


class RateOracle(LeaseClock):
    """Rates of gates and kinds."""

    def __init__(self, now_ms: int) -> None:
        super().__init__(now_ms)
        self.rates: dict[str, Rate] = {}
        """By gate or kind."""
        self.declared_rates: dict[str, dict[str, Rate]] = {}
        """The same, by lane."""
        self.rate_times: dict[str, float] = {}
        """By gate: when the next grant would be on time, if each took its interval."""

    def rate_of(self, gate: str) -> Rate | None:
        """Its own, or its kind's; an operator's, or the slowest that a lane declares."""
        for name in (gate, gate.split(":")[0] + ":*"):
            if name in self.rates:
                return self.rates[name]
            if declared := [rates[name] for rates in self.declared_rates.values() if name in rates]:
                return max(declared, key=lambda rate: rate.interval_ms)
        return None

    def _rate_time(self, gate: str, rate: Rate) -> float:
        latest = self.now + rate.burst * rate.interval_ms
        return max(float(self.now), min(self.rate_times.get(gate, 0.0), latest))

    def is_in_rate(self, gate: str) -> bool:
        """Whether its rate lets one more through now."""
        rate = self.rate_of(gate)
        if rate is None:
            return True
        return math.floor((self.now + STEP_MS - self._rate_time(gate, rate)) / rate.interval_ms + rate.burst) >= 1

    def note_grant(self, gates: tuple[str, ...]) -> None:
        """One was granted."""
        for gate in gates:
            if (rate := self.rate_of(gate)) is not None:
                self.rate_times[gate] = self._rate_time(gate, rate) + rate.interval_ms

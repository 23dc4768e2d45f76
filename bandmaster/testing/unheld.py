"""Rates, fair lanes and weights in memory: checked and told as with a server, but nothing waits for them.

In the flow: an application that sets them runs in its tests as it is: ``broker.queue.controls.rates`` and
``broker.queue.shares``. A unit test must not take as long as a rate says, so each gate lets through what its limit
does; and what waits in a fair lane stands in the order in which it was accepted, within its band.
"""

from collections.abc import Mapping

from bandmaster.scheduler.engine.rate_controls import RateInForce, in_force
from bandmaster.scheduler.engine.shares import UNWEIGHED, check_kind, check_weight
from bandmaster.scheduler.model.identifiers import check_lane
from bandmaster.scheduler.model.limits import check_gate, check_limited, kind_of
from bandmaster.scheduler.model.operators import check_by
from bandmaster.scheduler.model.rates import Rate, Rates


class MemoryRates:
    """The rates of one broker, with the interface of `RateControls`."""

    def __init__(self) -> None:
        self._set: dict[str, Rate] = {}
        self._declared: dict[str, Mapping[str, Rate]] = {}

    def set(self, gate: str, rate: Rate | str | None, *, by: str | None = None) -> None:
        """Note the rate of a gate or a kind; None: it has none. Raises InvalidRequest as with a server."""
        check_by(by)
        check_limited(gate)
        if rate is None:
            self._set.pop(gate, None)
        else:
            self._set[gate] = Rate.of(rate)

    def declare(self, declared: Mapping[str, Mapping[str, Rate]]) -> None:
        """Replace the rates that some lanes declared. Raises InvalidRequest as with a server."""
        for lane, rates in declared.items():
            check_lane(lane)
            for name, rate in rates.items():
                check_limited(name)
                rate.check()
        self._declared |= {lane: dict(rates) for lane, rates in declared.items()}

    def by_whom(self) -> Rates:
        """Those that were set, and those that actors declare, told apart."""
        slowest: dict[str, Rate] = {}
        for name, rate in ((name, rate) for rates in self._declared.values() for name, rate in rates.items()):
            if name not in slowest or rate.interval_ms > slowest[name].interval_ms:
                slowest[name] = rate
        return Rates(dict(self._set), slowest)

    def all(self) -> dict[str, RateInForce]:
        """Every gate and kind with a rate of its own, by name: one that was set, else the slowest declared one."""
        return in_force(self.by_whom())

    def of(self, gate: str) -> RateInForce | None:
        """The rate of a gate: its own, or its kind's; None: it has none."""
        known = self.all()
        return known.get(gate) or known.get(kind_of(gate) or "")


class MemoryShares:
    """Fair lanes and weights of one broker, with the interface of `Shares`."""

    def __init__(self) -> None:
        self._kinds: dict[str, str | None] = {}
        """Lane → what was chosen; None: strict order."""
        self._weights: dict[str, int] = {}

    def share(self, lane: str, kind: str | None, *, by: str | None = None, only_if_unset: bool = False) -> str | None:
        """Note by which kind of gates a lane is fair, None: by none; returns the kind before."""
        check_by(by)
        wanted = None if kind is None else check_kind(kind)
        before = self._kinds.get(check_lane(lane))
        if not (only_if_unset and lane in self._kinds):
            self._kinds[lane] = wanted
        return before

    def weigh(self, gate: str, weight: int | None, *, by: str | None = None) -> int:
        """Note the weight of a gate, None: 1; returns the weight before."""
        check_by(by)
        if weight is not None:
            check_weight(weight)
        before = self._weights.pop(check_gate(gate), UNWEIGHED)
        if weight is not None:
            self._weights[gate] = weight
        return before

    def kind_of(self, lane: str) -> str | None:
        """The kind of gates by which a lane is fair; None: it is strict."""
        return self._kinds.get(lane)

    def fair(self) -> dict[str, str]:
        """The kind of gates by which each fair lane is so, by lane."""
        return {lane: kind for lane, kind in sorted(self._kinds.items()) if kind is not None}

    def weight_of(self, gate: str) -> int:
        """The weight of a gate; 1 if none was set."""
        return self._weights.get(gate, UNWEIGHED)

    def weights(self) -> dict[str, int]:
        """Every weight that was set, by gate."""
        return dict(sorted(self._weights.items()))

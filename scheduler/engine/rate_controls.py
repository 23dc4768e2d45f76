"""``RateControls``: sets and reads the rates of gates and kinds, effective at once in every process.

In the flow: part of `Controls`. The script that admits reads the rates in Redis; the journal records who changed one.
Repeating a call does no harm, and counts as one change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from ..model.identifiers import check_lane
from ..model.limits import check_limited, kind_of
from ..model.operators import check_by
from ..model.rates import Rate, Rates
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts

_DECLARED: Final = "\n"
"""Behind a name in Redis: the slowest rate that lanes declare for it; with a lane behind that, this lane's."""


@dataclass(frozen=True, slots=True)
class RateInForce:
    """The rate of a gate or kind."""

    name: str
    """The gate or kind that the rate was set for."""
    rate: Rate
    is_declared: bool
    """Whether lanes declared it; else an operator set it."""


class RateControls(Reader):
    """The rates on one server."""

    def __init__(self, scripts: Scripts, by: str | None) -> None:
        """Makes no call.

        Args:
            scripts: The scripts of the server.
            by: The name for calls that give no `by`; None: user, host and program of this process.
        """
        super().__init__(scripts)
        self._by = by
        self._rate = scripts.script("rate", "gate rate by")
        self._declare = scripts.script("declare_rates", "lanes lane name rate")

    def set(self, gate: str, rate: Rate | str | None, *, by: str | None = None) -> None:
        """Let at most so many executions a time pass a gate, or each gate of a kind; None lifts the rate.

        Args:
            gate: `action:X`, `user:Y` or any gate key; `tenant:*` for every gate `tenant:…` without a rate of its own.
            rate: A rate, or a text such as `100/m`, `5/s burst 10`. Each grant counts, retries too. What passed before
                the change still counts.
            by: Who makes the change, for the journal.

        Raises:
            InvalidRequest: If the gate or the rate is not allowed.
        """
        check_limited(gate)
        asker = check_by(self._by if by is None else by)
        stored = "" if rate is None else Rate.of(rate).stored()
        self._scripts.call(self._rate, gate, stored, asker)

    def declare(self, declared: Mapping[str, Mapping[str, Rate]]) -> None:
        """Replace the rates that lanes declare for gates and kinds; one that an operator set goes before them.

        Args:
            declared: Lane → gate or kind → rate; a lane without rates takes back those it declared before. If several
                lanes declare one for the same gate or kind, the slowest holds.

        Raises:
            InvalidRequest: If a lane, a gate or a rate is not allowed; nothing was changed.
        """
        given: list[str] = []
        for lane, rates in declared.items():
            check_lane(lane)
            for name, rate in rates.items():
                rate.check()
                given += [lane, check_limited(name), rate.stored()]
        self._scripts.call(self._declare, " ".join(declared), *given)

    @repeated
    def by_whom(self) -> Rates:
        """Those that operators set, and those that actors declare, told apart."""
        by_operators, declared = dict[str, Rate](), dict[str, Rate]()
        for field, value in self._client.hgetall(self._scripts.keys.named("rates")).items():
            name, newline, lane = field.decode().partition(_DECLARED)
            if not lane:
                (declared if newline else by_operators)[name] = Rate.from_stored(value.decode())
        return Rates(by_operators, declared)

    def all(self) -> dict[str, RateInForce]:
        """Every gate and kind with a rate of its own, by name: an operator's, else the slowest declared one."""
        return in_force(self.by_whom())

    @repeated
    def of(self, gate: str) -> RateInForce | None:
        """The rate that holds for a gate: its own, or its kind's; None if it has none."""
        names = [name for name in (gate, kind_of(gate)) if name is not None]
        fields = [field for name in names for field in (name, name + _DECLARED)]
        values = self._client.hmget(self._scripts.keys.named("rates"), fields)
        for field, value in zip(fields, values, strict=True):
            if value is not None:
                name = field.removesuffix(_DECLARED)
                return RateInForce(name, Rate.from_stored(value.decode()), is_declared=field != name)
        return None


def in_force(rates: Rates) -> dict[str, RateInForce]:
    """What holds by name: an operator's, else the slowest declared one."""
    found = {name: RateInForce(name, rate, is_declared=True) for name, rate in rates.declared.items()}
    found |= {name: RateInForce(name, rate, is_declared=False) for name, rate in rates.by_operators.items()}
    return dict(sorted(found.items()))

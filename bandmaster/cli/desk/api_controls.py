"""``ApiControls``: an operator's controls through the admin API, as far as the token allows.

In the flow: one side of `port.Controls`. Each call may be repeated without harm, and the client does so if no answer
came. Who did it is the token's owner, not the user of this machine.
"""

from typing import Any, Final

from bandmaster.admin.client import calls
from bandmaster.admin.client.errors import ApiProblem
from bandmaster.cli.desk.answers import limit_of, rate_of
from bandmaster.cli.times import ms_of
from bandmaster.scheduler.engine.controls import Dropped, check_setting
from bandmaster.scheduler.engine.journal import Change
from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.model.auto import Auto
from bandmaster.scheduler.model.limits import check_limit_of
from bandmaster.scheduler.model.rates import Rate

_A_PAGE: Final = 200
_ANY: Final = "*"
_NOT_DROPPED: Final = {"in_use": Dropped.IN_USE, "not_found": Dropped.UNKNOWN}


class ApiControls:
    """Controls that an API offers. Every method raises ApiProblem and ApiUnavailable."""

    def __init__(self, client: Any) -> None:
        """Args: `client`, a `bandmaster.client.Client`, which another extra brings."""
        self._send = client.send

    def pause(self, name: str) -> bool:
        """Begin a pause; whether there was none."""
        return self._send(calls.pause(name)).changed

    def resume(self, name: str) -> bool:
        """End a pause; whether there was one."""
        return self._send(calls.resume(name)).changed

    def paused(self) -> list[str]:
        """All names that are paused."""
        return list(self._send(calls.paused()).paused)

    def settings(self, lane: str | None) -> dict[str, float | None]:
        """All runtime settings; of a lane, its bounds."""
        return {each.name: each.value for each in self._send(calls.settings(lane)).settings}

    def change_setting(self, name: str, value: int | None, lane: str | None) -> None:
        """Change one, whatever it is; None: its default."""
        # Else the refusal would name the field of a request that nobody typed.
        check_setting(name, value)
        self._send(calls.change_setting(name, value, lane, _ANY))

    def limited(self, gates: list[str] | None) -> list[GateLoad]:
        """These gates with the limits that hold for them; None: all that are limited."""
        if gates is None:
            return [limit_of(each) for each in self._send(calls.limits()).limits]
        return [limit_of(self._send(calls.limit(gate))) for gate in gates]

    def set_limit(self, gate: str, limit: int | Auto | None) -> None:
        """Set or lift the limit of a gate or a kind."""
        if isinstance(limit, Auto):
            check_limit_of(gate, limit)
            before = self._send(calls.limit(gate)).limit
            self._send(calls.set_limit(gate, limit.least if before is None else before, str(limit)))
        else:
            self._send(calls.set_limit(gate, limit))

    def rates(self) -> dict[str, RateInForce]:
        """Every gate and kind with a rate of its own, by name."""
        found = [rate_of(each) for each in self._send(calls.rates()).rates]
        return {each.name: each for each in found if each is not None}

    def rate_of(self, gate: str) -> RateInForce | None:
        """The rate that holds for a gate or a kind; None: it has none."""
        return rate_of(self._send(calls.rate(gate)))

    def set_rate(self, gate: str, rate: Rate | None) -> None:
        """Set or lift the rate of a gate or a kind."""
        self._send(calls.set_rate(gate, None if rate is None else str(rate)))

    def fair_lanes(self) -> dict[str, str]:
        """The kind of gates by which each fair lane is so, by lane."""
        return {each.lane: each.kind for each in self._send(calls.shares()).shares if each.kind is not None}

    def share(self, lane: str, kind: str | None) -> None:
        """Make a lane fair by a kind of gates; None: strict again."""
        self._send(calls.set_share(lane, kind))

    def weights(self) -> dict[str, int]:
        """Every weight that was set, by gate."""
        return {each.gate: each.weight for each in self._send(calls.weights()).weights}

    def weigh(self, gate: str, weight: int | None) -> None:
        """Set the weight of a gate in fair lanes; None: 1."""
        self._send(calls.set_weight(gate, weight))

    def drop_action(self, action: str) -> Dropped:
        """Forget what was counted of an action."""
        try:
            self._send(calls.drop_action(action))
        except ApiProblem as problem:
            if problem.code not in _NOT_DROPPED:
                raise
            return _NOT_DROPPED[problem.code]
        return Dropped.DROPPED

    def changes(self, most: int) -> list[Change]:
        """Who changed what, the latest first, from the audit; what was done to executions is not among it."""
        found: list[Change] = []
        cursor: str | None = None
        while True:
            page = self._send(calls.audit(kind="control", cursor=cursor, limit=_A_PAGE))
            found += [
                Change(ms_of(each.at), each.verb, each.subject, each.before or "", each.after or "", each.by)
                for each in page.entries
            ]
            cursor = page.next
            if cursor is None or len(found) >= most:
                return found[:most]

    def unused_name(self, name: str) -> str | None:
        """The API does not tell what was used."""
        return None

"""Limits, pauses and runtime settings: an operator's changes, effective at once in every process.

In the flow: the command line and applications call these. The script that admits reads the values in Redis (D14), and
the journal records who changed what. Repeating a call does no harm, and counts as one change.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from ...configs.areas import least_of
from ..keys import DEFAULT_LANE
from ..model.auto import Adjusted, Auto
from ..model.errors import InvalidRequest, SettingChanged, shown
from ..model.identifiers import check_action, check_lane
from ..model.limits import EVERYTHING, Limits, check_gate, check_limit_of, check_limited
from ..model.operators import check_by
from ..transport.reading import Reader, repeated
from ..transport.scripts import Scripts
from .rate_controls import RateControls
from .schedules import Schedules

SETTING_MAX = 10**10
BOUNDS = frozenset(
    {
        "max_concurrent_executions",
        "max_executions_per_user",
        "max_queue_size",
        "stale_timeout_seconds",
        "ageing_seconds",
    }
)
"""The settings of which each lane has its own value."""
_UNSET = frozenset({"max_concurrent", "ageing_seconds"})
"""The settings whose default is none, in every lane."""


class Dropped(StrEnum):
    """The result of dropping an action's statistics."""

    DROPPED = "DROPPED"
    IN_USE = "IN_USE"
    """An execution of the action waits, is scheduled or holds a slot: nothing was changed."""
    UNKNOWN = "UNKNOWN"
    """The action has no statistics."""


@dataclass(frozen=True, slots=True)
class InForce:
    """A setting's value as a caller saw it."""

    value: float | None
    """None: no bound."""


def check_pausable(name: object) -> str:
    """Return the value if it names something to pause: a gate, `lane:NAME` or `*`; else raise InvalidRequest."""
    if name == EVERYTHING:
        return EVERYTHING
    if isinstance(name, str) and name.startswith("lane:"):
        return f"lane:{check_lane(name.removeprefix('lane:'))}"
    return check_gate(name)


def check_bound(name: object) -> None:
    """Raise InvalidRequest unless each lane has its own value of this setting."""
    if name not in BOUNDS:
        raise InvalidRequest("setting", f"{shown(name)} is not a bound of a lane", allowed=", ".join(sorted(BOUNDS)))


def check_setting(name: str, value: object) -> None:
    """Raise InvalidRequest unless the setting may have this value; None stands for its default."""
    # The least TTL is 1 s: Redis refuses to expire a key in 0 s, and a script would fail in its middle.
    least = least_of(name)
    if value is not None and (isinstance(value, bool) or not least <= _whole(value) <= SETTING_MAX):
        raise InvalidRequest(name, f"{shown(value)} is not a setting's value", allowed=values_of(name))


def values_of(name: str) -> str:
    """What values a setting may have, in words."""
    return f"a whole number, {least_of(name)} to {SETTING_MAX}"


def check_unbounded(name: str, lane: str | None) -> None:
    """Raise InvalidRequest unless a setting may be without a value: its default is none then.

    Args:
        name: The setting.
        lane: Of which lane; None: of lane `executions`, or of none.
    """
    if name in _UNSET or (name in BOUNDS and lane not in (None, DEFAULT_LANE)):
        return
    always = f"lane {DEFAULT_LANE} always has this bound" if name in BOUNDS else "it always has a value"
    raise InvalidRequest(name, f"it cannot be none: {always}", allowed=f"{values_of(name)}, or default")


def _stored(limit: int | Auto) -> str | int:
    return limit.stored() if isinstance(limit, Auto) else limit


def _whole(value: object) -> int:
    """Return the value if it is a whole number, else one that no setting may have."""
    return value if isinstance(value, int) else -1


class Controls(Reader):
    """Limits, pauses and runtime settings on one server."""

    def __init__(self, scripts: Scripts, lane: str = DEFAULT_LANE, *, by: str | None = None) -> None:
        """Makes no call.

        Args:
            scripts: The scripts of the server.
            lane: The lane whose bounds are changed if a call names none.
            by: The name for calls that give no `by`; None: user, host and program of this process.
        """
        super().__init__(scripts)
        self._lane = lane
        self._by = None if by is None else check_by(by)
        self.rates = RateControls(scripts, self._by)
        self.schedules = Schedules(scripts, by=by)
        self._limit = scripts.script("limit", "gate limit by")
        self._declare = scripts.script("declare", "lanes lane name limit")
        self._set = scripts.script("set", "lane name value only_if_unset by expected")
        self._pause = scripts.script("pause", "gate by")
        self._resume = scripts.script("resume", "gate by")
        self._drop_action = scripts.script("drop_action", "action by")

    def _asker(self, by: str | None) -> str:
        return check_by(self._by if by is None else by)

    def set_limit(self, gate: str, limit: int | Auto | None, *, by: str | None = None) -> int:
        """Let at most `limit` executions hold a gate at once, or each gate of a kind; None lifts the limit.

        Args:
            gate: `action:X`, `user:Y` or any gate key; `tenant:*` for every gate `tenant:…` without a limit of its own.
            limit: 0 or more; a lowered limit takes effect as running executions end. Of a gate it may adjust itself
                (`model/auto.py`); setting the same bounds again leaves it as it is.
            by: Who makes the change, for the journal.

        Returns:
            How many executions hold the gate now; 0 for a kind.

        Raises:
            InvalidRequest: If the gate or the limit is not allowed.
        """
        check_limited(gate)
        if limit is not None:
            check_limit_of(gate, limit)
        return int(self._scripts.call(self._limit, gate, "" if limit is None else _stored(limit), self._asker(by)))

    def declare_limits(self, declared: Mapping[str, Mapping[str, int | Auto]]) -> int:
        """Replace the limits that lanes declare for gates and kinds; a limit that an operator set goes before them.

        Args:
            declared: Lane → gate or kind → limit; a lane without limits takes back those it declared before. If
                several lanes declare a limit for the same gate or kind, the lowest holds.

        Returns:
            The number of this declaration: while `last_declaration` is no lower, Redis has not lost it.

        Raises:
            InvalidRequest: If a lane, a gate or a limit is not allowed; nothing was changed.
        """
        given: list[str | int] = []
        for lane, limits in declared.items():
            check_lane(lane)
            for name, limit in limits.items():
                check_limit_of(check_limited(name), limit)
                given += [lane, name, _stored(limit)]
        return self._scripts.call(self._declare, " ".join(declared), *given)

    @repeated
    def last_declaration(self) -> int:
        """The number of the last declaration of limits that Redis has; 0 if there was none."""
        return int(self._scripts.client.hget(self._scripts.keys.named("rounds"), "declared") or 0)

    def limits(self) -> dict[str, int]:
        """Every limit that an operator set for a gate or kind."""
        return dict(sorted(self.all_limits().by_operators.items()))

    @repeated
    def all_limits(self) -> Limits:
        """Every limit that operators set or lanes declared."""
        keys, found = self._scripts.keys, Limits()
        pipeline = self._client.pipeline(transaction=False)
        for key in (keys.named("limits"), keys.default_limits(), keys.named("auto_limits")):
            pipeline.hgetall(key)
        own, defaults, autos = pipeline.execute()
        found.by_operators |= {gate.decode(): int(limit) for gate, limit in own.items()}
        for raw, limit in defaults.items():
            name, _, lane = raw.decode().partition("\n")
            if not lane:
                found.by_operators[name] = int(limit)
                continue
            text = limit.decode()
            found.declared.setdefault(lane, {})[name] = int(text) if text.isdecimal() else Auto.read(text)
        for gate, kept in autos.items():
            adjusted = Adjusted.from_stored(kept.decode())
            if adjusted is not None:
                found.adjusted[gate.decode()] = adjusted
        return found

    def pause(self, name: str = EVERYTHING, *, by: str | None = None) -> bool:
        """Stop admission through a gate, from a lane (`lane:NAME`) or, with `*`, altogether. Running executions go on.

        Returns:
            False if it was paused before.
        """
        return self._scripts.call(self._pause, check_pausable(name), self._asker(by)) == 1

    def resume(self, name: str = EVERYTHING, *, by: str | None = None) -> bool:
        """End a pause. Time in a pause does not count as waiting time, nor twice where pauses overlap.

        Returns:
            Whether there was such a pause.
        """
        return self._scripts.call(self._resume, check_pausable(name), self._asker(by)) == 1

    @repeated
    def paused(self) -> dict[str, int]:
        """All paused names, with the start of each pause in unix milliseconds."""
        raw = self._client.hgetall(self._scripts.keys.named("paused"))
        return {name.decode(): int(since) for name, since in sorted(raw.items())}

    def drop_action(self, action: str, *, by: str | None = None) -> Dropped:
        """Forget the statistics of an unused action, which would otherwise stay for ever.

        Args:
            action: Its name. Later executions of it are counted anew.
            by: Who makes the change, for the journal.
        """
        return Dropped(self._scripts.call(self._drop_action, check_action(action), self._asker(by)).decode())

    def change_setting(
        self,
        name: str,
        value: int | None,
        *,
        lane: str | None = None,
        only_if_unset: bool = False,
        expected: InForce | None = None,
        by: str | None = None,
    ) -> float | None:
        """Change a runtime setting for every process at once.

        Args:
            name: A setting that `status` lists, such as max_concurrent_executions.
            value: A value that the configuration also allows (`configs/areas.py`); None for the default.
            lane: The lane, for a setting in `BOUNDS`; None: this queue's own lane.
            only_if_unset: Leave a value that is set already. Such a call does not count as an operator's change.
            expected: Change it only while this value is in force; None: whatever it is.
            by: Who makes the change, for the journal.

        Returns:
            The value in force; None if there is no bound.

        Raises:
            InvalidRequest: If there is no such setting, lanes have no value of it, or the value is not allowed.
            SettingChanged: If another value than the expected one is in force; nothing was changed.
        """
        if lane is not None:
            check_lane(lane)
            check_bound(name)
        check_setting(name, value)
        of_lane = (lane or self._lane) if name in BOUNDS else ""
        given = "" if value is None else value
        wanted = "" if expected is None else "none" if expected.value is None else f"{expected.value:.17g}"
        code, in_force = self._scripts.call(
            self._set, of_lane, name, given, int(only_if_unset), self._asker(by), wanted
        )
        if code == b"CHANGED":
            raise SettingChanged(name, float(in_force) if in_force else None)
        if code == b"UNKNOWN":
            raise InvalidRequest("setting", f"{shown(name)} is not a setting", allowed="those that `status` lists")
        return float(in_force) if in_force else None

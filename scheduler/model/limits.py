"""Which limit holds for a gate: its own (an operator's, else a declared one), or that of its kind.

In the flow: code that shows limits and the in-memory queue ask here. Admission in Redis uses `lua/include/limits.lua`,
which follows the same rules. Pure functions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .auto import Adjusted, Auto
from .errors import InvalidRequest, shown
from .identifiers import check_action, check_gate_key, check_user_id

EVERYTHING: Final = "*"
"""The name that stands for the whole queue in a pause."""
LIMIT_MAX: Final = 10**15
OF_KIND: Final = ":*"
"""The end of every kind's name: `tenant:*` means all gates `tenant:…`."""


def kind_of(gate: str) -> str | None:
    """Return the kind of a gate: the text before its first colon, as `tenant:*`; None if the gate has no kind."""
    kind, colon, _ = gate.partition(":")
    return kind + OF_KIND if kind and colon else None


def is_kind(name: str) -> bool:
    """Whether the name is a kind's, not a gate's."""
    return name.endswith(OF_KIND)


def check_limited(name: object) -> str:
    """Return the value if it names a gate (`user:Y`, any key) or a kind (`tenant:*`); else raise InvalidRequest."""
    if name == EVERYTHING:
        raise InvalidRequest("gate", "'*' is no gate", allowed="the setting max_concurrent limits everything")
    if isinstance(name, str) and is_kind(name):
        kind = name.removesuffix(OF_KIND)
        if not kind or ":" in kind:
            raise InvalidRequest(
                "gate",
                f"{shown(name)} is no kind of gates",
                allowed="what precedes a gate's first colon, like tenant:*",
            )
        return check_gate_key(kind + ":") + "*"
    return check_gate(name)


def check_gate(gate: object) -> str:
    """Return the value if it names a gate (`action:X`, `user:Y` or any key); else raise InvalidRequest."""
    if isinstance(gate, str):
        kind, _, rest = gate.partition(":")
        if kind == "action":
            return f"action:{check_action(rest)}"
        if kind == "user":
            return f"user:{check_user_id(rest)}"
    return check_gate_key(gate)


def check_limit(name: str, value: object) -> None:
    """Raise InvalidRequest unless the value may be a limit."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LIMIT_MAX:
        raise InvalidRequest(name, f"{shown(value)} is not a limit", allowed=f"a whole number, 0 to {LIMIT_MAX}")


def check_limit_of(gate: str, limit: object) -> None:
    """Raise InvalidRequest unless a gate or kind may have this limit, which may be one that adjusts itself."""
    if not isinstance(limit, Auto):
        return check_limit("limit", limit)
    limit.check()
    if is_kind(gate):
        # Each of its gates would need figures of its own, for as long as it is used, and any number may be.
        raise InvalidRequest(
            "auto", f"{limit} for {gate}, which is a kind", allowed="a number; or auto for single gates"
        )
    return None


@dataclass(frozen=True, slots=True)
class Holding:
    """The limit that holds for a gate."""

    name: str
    """The gate or kind that the limit was set for."""
    limit: int
    is_declared: bool
    """Whether a lane declared the limit; else an operator set it."""
    auto: Auto | None = None
    """The bounds within which it adjusts itself, if it does."""


@dataclass(slots=True)
class Limits:
    """All limits, by gate or kind."""

    by_operators: dict[str, int] = field(default_factory=dict[str, int])
    declared: dict[str, dict[str, int | Auto]] = field(default_factory=dict[str, dict[str, int | Auto]])
    """Lane → gate or kind → limit."""
    adjusted: dict[str, Adjusted] = field(default_factory=dict[str, Adjusted])
    """By gate: those that adjust themselves. What operators set is among `by_operators`, too, as a number."""

    def declare(self, declared: Mapping[str, Mapping[str, int | Auto]]) -> None:
        """Replace the limits that these lanes declared."""
        self.declared |= {lane: dict(limits) for lane, limits in declared.items()}

    def named(self, name: str) -> Holding | None:
        """The limit of this very gate or kind: an operator's, or else the lowest that lanes declared."""
        adjusted = self.adjusted.get(name)
        if name in self.by_operators:
            auto = None if adjusted is None or adjusted.is_declared else adjusted.auto
            return Holding(name, self.by_operators[name], is_declared=False, auto=auto)
        declared = [limits[name] for limits in self.declared.values() if name in limits]
        if not declared:
            return None
        lowest = min(declared, key=_bounds_of)
        if not isinstance(lowest, Auto):
            return Holding(name, lowest, is_declared=True)
        now = adjusted.now if adjusted is not None and adjusted.is_declared else lowest.least
        return Holding(name, now, is_declared=True, auto=lowest)

    def of(self, gate: str) -> Holding | None:
        """The limit that holds for a gate: its own, or its kind's."""
        kind = kind_of(gate)
        return self.named(gate) or (None if kind is None else self.named(kind))

    def names(self) -> set[str]:
        """Every gate and kind that has a limit of its own."""
        return set(self.by_operators).union(*self.declared.values())


def _bounds_of(limit: int | Auto) -> tuple[int, int]:
    """What lets less through sorts before."""
    return (limit.most, limit.least) if isinstance(limit, Auto) else (limit, limit)

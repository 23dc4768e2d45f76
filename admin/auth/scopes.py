"""The scopes of tokens: what a caller may do."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from ...scheduler.model.errors import InvalidRequest, shown


class Scope(StrEnum):
    """What a token allows."""

    READ = "read"
    """See one's own executions, and counts of everything."""
    SUBMIT = "submit"
    """Also send executions, and cancel, move or retry one's own."""
    OPERATE = "operate"
    """See everybody's executions but not what they run; change them; limits, rates, weights, pauses; run schedules."""
    SETTLE = "settle"
    """Read the items that one holds, and say what came of them; take none. Programs that triggers start get it."""
    ROBOT = "robot"
    """Take items of queues, add some, and say what came of those that it holds; nothing of executions."""
    ADMIN = "admin"
    """Everything: settings, fair lanes, schedules, payloads, tokens, the audit."""


INCLUDED: Final[Mapping[Scope, frozenset[Scope]]] = MappingProxyType(
    {
        Scope.READ: frozenset({Scope.READ}),
        Scope.SUBMIT: frozenset({Scope.READ, Scope.SUBMIT}),
        Scope.OPERATE: frozenset({Scope.READ, Scope.OPERATE}),
        Scope.SETTLE: frozenset({Scope.SETTLE}),
        Scope.ROBOT: frozenset({Scope.SETTLE, Scope.ROBOT}),
        Scope.ADMIN: frozenset(Scope),
    }
)
"""Scope → all that it allows."""


def read_scopes(names: Iterable[str]) -> frozenset[Scope]:
    """Return the scopes of these names.

    Raises:
        InvalidRequest: If there are none, or one of them is not known.
    """
    found = set[Scope]()
    for name in names:
        if name not in set(Scope):
            raise InvalidRequest("scope", f"{shown(name)} is not a scope", allowed=", ".join(Scope))
        found.add(Scope(name))
    if not found:
        raise InvalidRequest("scope", "none is given", allowed=", ".join(Scope))
    return frozenset(found)

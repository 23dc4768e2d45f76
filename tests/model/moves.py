"""The moves between states, as a table: what the scripts did, a journal and a chaos run are held to it."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bandmaster.scheduler.model.states import TERMINAL, State

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = MappingProxyType(
    {
        # A forced `remove` or a lost event ends an execution in any state that is not terminal.
        State.SCHEDULED: frozenset({State.PENDING, State.CANCELLED, State.FAILED}),
        State.PENDING: frozenset({State.RUNNING, State.CANCELLED, State.EXPIRED, State.FAILED}),
        # RUNNING → SCHEDULED is a retry with a delay.
        State.RUNNING: frozenset({State.PENDING, State.SCHEDULED, State.POD, State.CANCELLING}) | TERMINAL,
        State.POD: frozenset({State.PENDING, State.SCHEDULED, State.CANCELLING}) | TERMINAL,
        State.CANCELLING: frozenset({State.CANCELLED, State.TIMEOUT, State.COMPLETED, State.FAILED}),
        State.COMPLETED: frozenset(),
        State.FAILED: frozenset(),
        State.TIMEOUT: frozenset(),
        State.CANCELLED: frozenset(),
        State.EXPIRED: frozenset(),
    }
)
"""State → the states one transition may lead to. Running a dead letter again counts as accepting a new execution."""


def may_become(now: State, then: State) -> bool:
    """Whether one transition may lead from `now` to `then`."""
    return then in TRANSITIONS[now]

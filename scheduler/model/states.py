"""The states of an execution, and the moves between them.

Every transition is made by one Lua script, which checks the state it starts from; this module is the one table that the
scripts, the model and the tests are compared with. Nothing here does I/O, so nothing can be lost here.

::

                 enqueue, due later          enqueue                          slot held in this frame
                        │                       │                 ┌─────────────────────────────────────┐
                        ▼           due         ▼       admit     │           hand over                 │
                    SCHEDULED ─────────────► PENDING ─────────────┼─► RUNNING ───────────► POD          │
                        │  ▲                    │  ▲              │      │                 │           │
                        │  │                    │  │              │      │   cancel, timeout           │
                        │  │                    │  │              │      ├──► CANCELLING ◄─┤           │
                        │  │                    │  │              │      │        │        │           │
                        │  └ retry with a delay │  └ retry, hand  └──────┼────────┼────────┼───────────┘
                        │                       │    back, lease         │        │        │
                 cancel │  cancel, stale, event │    ran out             │  end   │ pod    │ end
                        │  lost                 │                        │        │ gone   │
                        ▼                       ▼                        ▼        ▼        ▼
               ┌────────────────────────────────────────────────────────────────────────────────────────┐
               │        COMPLETED        FAILED        TIMEOUT        CANCELLED        EXPIRED            │
               └────────────────────────────────────────────────────────────────────────────────────────┘

WAITING executions hold no slot, HOLDING ones hold exactly one, TERMINAL ones none, for ever.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class State(StrEnum):
    """Where an execution stands; the value is what Redis, JSON and the command line show."""

    SCHEDULED = "SCHEDULED"
    """Not yet due."""
    PENDING = "PENDING"
    """Due, waiting for a slot and for its gates."""
    RUNNING = "RUNNING"
    """Granted to a worker's thread, which renews the lease."""
    POD = "POD"
    """Handed over to a pod; whoever sees the pod alive renews the lease."""
    CANCELLING = "CANCELLING"
    """Cancelled or timed out, the pod is not yet confirmed gone: the slot is still held."""
    COMPLETED = "COMPLETED"
    """Ended well."""
    FAILED = "FAILED"
    """Ended badly, or used up its tries."""
    TIMEOUT = "TIMEOUT"
    """Ran longer than its `timeout_seconds`."""
    CANCELLED = "CANCELLED"
    """Cancelled, before or while it ran."""
    EXPIRED = "EXPIRED"
    """Waited longer than the stale timeout."""


WAITING: Final = frozenset({State.SCHEDULED, State.PENDING})
"""Without a slot, may still run."""

HOLDING: Final = frozenset({State.RUNNING, State.POD, State.CANCELLING})
"""With a slot: a member of `active`, with a lease."""

TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.TIMEOUT, State.CANCELLED, State.EXPIRED})
"""Ended: never changes again."""

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = MappingProxyType(
    {
        # The forced `remove` and a lost event end an execution from any state that is not terminal.
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
"""State → what one transition may lead to. A dead-lettered execution that is run again is a new acceptance."""


def may_become(now: State, then: State) -> bool:
    """Whether one transition may lead from `now` to `then`."""
    return then in TRANSITIONS[now]

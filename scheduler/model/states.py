"""The states of an execution, and the moves between them.

Every transition is made by one Lua script, which checks the state it starts from. `tests/model/moves.py` has the moves
as a table, to which tests hold the scripts. Nothing here does I/O.

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

WAITING executions hold no slot, HOLDING ones hold exactly one, and TERMINAL ones never hold one again.
"""

from enum import StrEnum
from typing import Final


class State(StrEnum):
    """The state of an execution; Redis, JSON and the command line show the value."""

    SCHEDULED = "SCHEDULED"
    """Not yet due."""
    PENDING = "PENDING"
    """Due, waiting for a slot and for its gates."""
    RUNNING = "RUNNING"
    """Granted to a worker's thread, which renews the lease."""
    POD = "POD"
    """Handed over to a pod; the watch renews the lease as long as it sees the pod alive."""
    CANCELLING = "CANCELLING"
    """Cancelled or timed out; the pod is not yet confirmed gone, so the slot is still held."""
    COMPLETED = "COMPLETED"
    """Ended with success."""
    FAILED = "FAILED"
    """Ended with an error, or used up its attempts."""
    TIMEOUT = "TIMEOUT"
    """Ran longer than its `timeout_seconds`."""
    CANCELLED = "CANCELLED"
    """Cancelled, before or while it ran."""
    EXPIRED = "EXPIRED"
    """Waited longer than the stale timeout."""


WAITING: Final = frozenset({State.SCHEDULED, State.PENDING})
"""States without a slot from which an execution may still run."""

HOLDING: Final = frozenset({State.RUNNING, State.POD, State.CANCELLING})
"""States with a slot: the execution is a member of `active` and has a lease."""

TERMINAL: Final = frozenset({State.COMPLETED, State.FAILED, State.TIMEOUT, State.CANCELLED, State.EXPIRED})
"""States of ended executions, which never change again."""

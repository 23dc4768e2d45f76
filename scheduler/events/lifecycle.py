"""What happens to an execution after it was requested, one model a fact.

They are the arguments of the lifecycle actors (``execution_completed`` …) and the readable form of the journal's
entries (`engine/journal_events.py`). `at` is Redis's clock, since that is what ordered them. Whoever reports an end
gives `attempt`: without it, a late report of an earlier attempt could free the slot of a later one (D8, D33).
"""

import time
from types import MappingProxyType
from typing import Final, Literal

from pydantic import Field

from .event import Event
from .fields import Attempt, DurationSeconds, OutputTail, Reason, UnixMs, Word
from .requested import ExecutionRequestedEvent


def _now_ms() -> int:
    return int(time.time() * 1000)


class LifecycleEvent(Event, frozen=True):
    """Something happened to an execution."""

    at: UnixMs = Field(default_factory=_now_ms)
    """When, in Unix milliseconds; None given: now, by the reporter's clock, for people and never for order."""


class ExecutionAcceptedEvent(LifecycleEvent, frozen=True):
    """It waits now."""

    event_type: Literal["execution_accepted"] = "execution_accepted"
    position: int | None = Field(default=None, ge=0)
    """How many were to start before it; 0 is next. None: it is not due yet, or is a body of an actor, of which none are
    counted."""


class ExecutionRejectedEvent(LifecycleEvent, frozen=True):
    """It was not accepted."""

    event_type: Literal["execution_rejected"] = "execution_rejected"
    reason: Reason


class ExecutionScheduledEvent(LifecycleEvent, frozen=True):
    """It was granted a slot."""

    event_type: Literal["execution_scheduled"] = "execution_scheduled"
    attempt: Attempt


class ExecutionStartedEvent(LifecycleEvent, frozen=True):
    """It runs, in its pod if it has one."""

    event_type: Literal["execution_started"] = "execution_started"
    attempt: Attempt
    pod: Word | None = None


class ExecutionEndedEvent(LifecycleEvent, frozen=True):
    """What the five ends have in common."""

    attempt: int = Field(ge=0)
    """0: it never ran."""
    pod_uid: Word | None = None
    """Of the pod that ended: another one of the same attempt, as a server restored from older data may have, is not
    ended by it. None: whoever reports it knows the attempt alone."""
    exit_code: int | None = None
    """None: it has none, since it never ran, was lost, or died of a signal."""
    reason: Reason | None = None
    duration_seconds: DurationSeconds | None = None
    output_tail: OutputTail = Field(default="", repr=False)
    """The last of what it printed; NUL and invalid text replaced."""
    output_truncated: bool = False
    """It printed more than that."""


class ExecutionCompletedEvent(ExecutionEndedEvent, frozen=True):
    """It ended well."""

    event_type: Literal["execution_completed"] = "execution_completed"


class ExecutionFailedEvent(ExecutionEndedEvent, frozen=True):
    """It ended badly."""

    event_type: Literal["execution_failed"] = "execution_failed"
    infrastructure: bool = False
    """It was not its own fault (node lost, evicted, preempted), so it is tried again without using up a try."""


class ExecutionTimeoutEvent(ExecutionEndedEvent, frozen=True):
    """It ran longer than it may, and was stopped."""

    event_type: Literal["execution_timeout"] = "execution_timeout"


class ExecutionCancelledEvent(ExecutionEndedEvent, frozen=True):
    """Somebody cancelled it."""

    event_type: Literal["execution_cancelled"] = "execution_cancelled"
    attempt: int = Field(default=0, ge=0)
    """Whatever attempt it is at: who cancels need not know."""


class ExecutionExpiredEvent(ExecutionEndedEvent, frozen=True):
    """It waited too long to be of use."""

    event_type: Literal["execution_expired"] = "execution_expired"


EVENT_TYPES: Final = MappingProxyType(
    {
        model.model_fields["event_type"].default: model
        for model in (
            ExecutionRequestedEvent,
            ExecutionAcceptedEvent,
            ExecutionRejectedEvent,
            ExecutionScheduledEvent,
            ExecutionStartedEvent,
            ExecutionCompletedEvent,
            ExecutionFailedEvent,
            ExecutionTimeoutEvent,
            ExecutionCancelledEvent,
            ExecutionExpiredEvent,
        )
    }
)
"""`event_type` → its model."""

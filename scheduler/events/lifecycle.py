"""The events that follow a request, one model for each kind.

They are the arguments of the lifecycle actors (``execution_completed`` …) and the readable form of the journal's
entries (`engine/journal_events.py`), where `at` is the time of Redis's clock, which orders them. A report of an end
gives its `attempt`: without it, a late report of an earlier attempt could free the slot of a later one (D8, D33).
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
    """When it happened, in Unix milliseconds. Default: now by the reporter's clock, to inform people, not for order."""


class ExecutionAcceptedEvent(LifecycleEvent, frozen=True):
    """The execution was accepted and waits."""

    event_type: Literal["execution_accepted"] = "execution_accepted"
    position: int | None = Field(default=None, ge=0)
    """How many executions were to start before it; 0 is next. None: it is not due yet, or is a message of an actor,
    for which the position is not counted."""


class ExecutionRejectedEvent(LifecycleEvent, frozen=True):
    """The execution was not accepted."""

    event_type: Literal["execution_rejected"] = "execution_rejected"
    reason: Reason


class ExecutionScheduledEvent(LifecycleEvent, frozen=True):
    """The execution was granted a slot."""

    event_type: Literal["execution_scheduled"] = "execution_scheduled"
    attempt: Attempt


class ExecutionStartedEvent(LifecycleEvent, frozen=True):
    """The execution runs, in its pod if it has one."""

    event_type: Literal["execution_started"] = "execution_started"
    attempt: Attempt
    pod: Word | None = None


class ExecutionEndedEvent(LifecycleEvent, frozen=True):
    """The base of the five events of an end."""

    attempt: int = Field(ge=0)
    """0: the execution never ran."""
    pod_uid: Word | None = None
    """The UID of the pod that ended. It protects another pod with the same attempt number, which can exist after a
    server was restored from older data. None: the reporter knows only the attempt."""
    exit_code: int | None = None
    """None: there is no exit code, since the execution never ran, was lost, or died of a signal."""
    reason: Reason | None = None
    duration_seconds: DurationSeconds | None = None
    output_tail: OutputTail = Field(default="", repr=False)
    """The end of its output, with NUL and invalid text replaced."""
    output_truncated: bool = False
    """Whether it printed more than that."""


class ExecutionCompletedEvent(ExecutionEndedEvent, frozen=True):
    """The execution ended with success."""

    event_type: Literal["execution_completed"] = "execution_completed"


class ExecutionFailedEvent(ExecutionEndedEvent, frozen=True):
    """The execution ended with an error."""

    event_type: Literal["execution_failed"] = "execution_failed"
    infrastructure: bool = False
    """Whether the cluster was at fault (node lost, evicted, preempted), so it is tried again without using up a try."""


class ExecutionTimeoutEvent(ExecutionEndedEvent, frozen=True):
    """The execution ran longer than its timeout, and was stopped."""

    event_type: Literal["execution_timeout"] = "execution_timeout"


class ExecutionCancelledEvent(ExecutionEndedEvent, frozen=True):
    """The execution was cancelled."""

    event_type: Literal["execution_cancelled"] = "execution_cancelled"
    attempt: int = Field(default=0, ge=0)
    """0: any attempt, since a canceller need not know the current one."""


class ExecutionExpiredEvent(ExecutionEndedEvent, frozen=True):
    """The execution waited too long to be of use."""

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

"""The events of an execution: strict, frozen, versioned models with one JSON form each.

`requested` has the request that a caller sends, `lifecycle` the later events, `event` their common base, and `fields`
the types of their fields.
"""

from .event import EVENT_MAX_BYTES, PAYLOAD_FIELDS, Event
from .fields import GATES_MAX, LABELS_MAX, OUTPUT_TAIL_MAX_CHARS, REASON_MAX_CHARS, TIMEOUT_MAX_SECONDS
from .lifecycle import (
    EVENT_TYPES,
    ExecutionAcceptedEvent,
    ExecutionCancelledEvent,
    ExecutionCompletedEvent,
    ExecutionEndedEvent,
    ExecutionExpiredEvent,
    ExecutionFailedEvent,
    ExecutionRejectedEvent,
    ExecutionScheduledEvent,
    ExecutionStartedEvent,
    ExecutionTimeoutEvent,
    LifecycleEvent,
)
from .requested import ExecutionRequestedEvent, Metadata

__all__ = [
    "EVENT_MAX_BYTES",
    "EVENT_TYPES",
    "GATES_MAX",
    "LABELS_MAX",
    "OUTPUT_TAIL_MAX_CHARS",
    "PAYLOAD_FIELDS",
    "REASON_MAX_CHARS",
    "TIMEOUT_MAX_SECONDS",
    "Event",
    "ExecutionAcceptedEvent",
    "ExecutionCancelledEvent",
    "ExecutionCompletedEvent",
    "ExecutionEndedEvent",
    "ExecutionExpiredEvent",
    "ExecutionFailedEvent",
    "ExecutionRejectedEvent",
    "ExecutionRequestedEvent",
    "ExecutionScheduledEvent",
    "ExecutionStartedEvent",
    "ExecutionTimeoutEvent",
    "LifecycleEvent",
    "Metadata",
]

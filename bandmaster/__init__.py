"""Bandmaster: strict priority bands, concurrency gates across every worker, and Kubernetes pods, for Dramatiq.

The public names. Everything else is one package deeper: ``bandmaster.actors`` (the lifecycle), ``bandmaster.scheduler``
(the engine), ``bandmaster.middleware`` (Dramatiq's side), ``bandmaster.k8s`` (pods), ``bandmaster.configs`` (settings).
"""

from bandmaster.middleware import (
    BandedRedisBroker,
    ConcurrencyGate,
    ExecutionCancelled,
    PriorityBands,
    current_grant,
)
from bandmaster.scheduler.errors import (
    BandmasterError,
    DuplicateExecution,
    InvalidRequest,
    QueueFull,
    QueueRejected,
    QueueUnavailable,
    UserLimitExceeded,
)
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.priority import Priority
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.states import State

__all__ = [
    "BandedRedisBroker",
    "BandmasterError",
    "ConcurrencyGate",
    "DuplicateExecution",
    "ExecutionCancelled",
    "ExecutionQueueService",
    "ExecutionRequestedEvent",
    "InvalidRequest",
    "Priority",
    "PriorityBands",
    "QueueFull",
    "QueueRejected",
    "QueueUnavailable",
    "State",
    "UserLimitExceeded",
    "current_grant",
]

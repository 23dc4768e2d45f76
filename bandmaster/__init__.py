"""Bandmaster: strict priority bands, concurrency gates across every worker, and Kubernetes pods, for Dramatiq.

This module has the public names. Everything else is one package deeper: ``bandmaster.actors`` (the lifecycle),
``bandmaster.scheduler`` (the engine), ``bandmaster.middleware`` (Dramatiq's side), ``bandmaster.k8s`` (pods),
``bandmaster.configs`` (settings).

A name is imported only when it is used: every process imports this module first, and none needs all names.
"""

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from bandmaster.middleware import (
        Actor,
        ActorOptions,
        BandedRedisBroker,
        ConcurrencyGate,
        ExecutionCancelled,
        MessageOptions,
        PriorityBands,
        Schedule,
        Unique,
        actor,
        current_grant,
        push_task,
        task_handler,
    )
    from bandmaster.scheduler.events import ExecutionRequestedEvent
    from bandmaster.scheduler.model.errors import (
        BandmasterError,
        DuplicateExecution,
        InvalidRequest,
        NotUnique,
        QueueFull,
        QueueRejected,
        QueueUnavailable,
        UserLimitExceeded,
    )
    from bandmaster.scheduler.model.priority import Priority
    from bandmaster.scheduler.model.rates import Rate
    from bandmaster.scheduler.model.states import State
    from bandmaster.scheduler.queue import ExecutionQueueService
    from bandmaster.scheduler.slots.errors import SlotCancelled, SlotTimeout
    from bandmaster.scheduler.slots.slots import Slots, get_queue_stats, slot
    from bandmaster.scheduler.slots.statistics import QueueStats

__all__ = [
    "Actor",
    "ActorOptions",
    "BandedRedisBroker",
    "BandmasterError",
    "ConcurrencyGate",
    "DuplicateExecution",
    "ExecutionCancelled",
    "ExecutionQueueService",
    "ExecutionRequestedEvent",
    "InvalidRequest",
    "MessageOptions",
    "NotUnique",
    "Priority",
    "PriorityBands",
    "QueueFull",
    "QueueRejected",
    "QueueStats",
    "QueueUnavailable",
    "Rate",
    "Schedule",
    "SlotCancelled",
    "SlotTimeout",
    "Slots",
    "State",
    "Unique",
    "UserLimitExceeded",
    "actor",
    "current_grant",
    "get_queue_stats",
    "push_task",
    "slot",
    "task_handler",
]

_MODULES = {
    "middleware": (
        "Actor",
        "ActorOptions",
        "BandedRedisBroker",
        "ConcurrencyGate",
        "ExecutionCancelled",
        "MessageOptions",
        "PriorityBands",
        "Schedule",
        "Unique",
        "actor",
        "current_grant",
        "push_task",
        "task_handler",
    ),
    "scheduler.model.errors": (
        "BandmasterError",
        "DuplicateExecution",
        "InvalidRequest",
        "NotUnique",
        "QueueFull",
        "QueueRejected",
        "QueueUnavailable",
        "UserLimitExceeded",
    ),
    "scheduler.events": ("ExecutionRequestedEvent",),
    "scheduler.model.priority": ("Priority",),
    "scheduler.model.rates": ("Rate",),
    "scheduler.queue": ("ExecutionQueueService",),
    "scheduler.slots.errors": ("SlotCancelled", "SlotTimeout"),
    "scheduler.slots.slots": ("Slots", "get_queue_stats", "slot"),
    "scheduler.slots.statistics": ("QueueStats",),
    "scheduler.model.states": ("State",),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value: object = getattr(import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

"""The Dramatiq side: a broker whose lanes are pulled by workers, and two middleware that also work on any broker."""

from .actor import Actor, actor
from .bands import PriorityBands
from .broker import BandedRedisBroker
from .gate import ConcurrencyGate
from .grants.cancellation import ExecutionCancelled
from .grants.context import current_grant
from .intake.declared_schedules import Schedule
from .intake.unique_keys import Unique
from .options import ActorOptions, MessageOptions
from .tasks import push_task, task_handler

__all__ = [
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
]

"""Dramatiq's side: the broker whose lanes are pulled, and the two middleware that also work on any other broker."""

from .bands import PriorityBands
from .broker import BandedRedisBroker
from .gate import ConcurrencyGate
from .heartbeat import ExecutionCancelled
from .held import current_grant

__all__ = ["BandedRedisBroker", "ConcurrencyGate", "ExecutionCancelled", "PriorityBands", "current_grant"]

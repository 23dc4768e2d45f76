"""Dramatiq's side: the broker whose lanes are pulled, and the two middleware that also work on any other broker."""

from .bands import PriorityBands
from .broker import BandedRedisBroker
from .current import current_grant
from .gate import ConcurrencyGate
from .interrupts import ExecutionCancelled

__all__ = ["BandedRedisBroker", "ConcurrencyGate", "ExecutionCancelled", "PriorityBands", "current_grant"]

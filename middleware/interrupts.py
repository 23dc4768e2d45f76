"""Interrupting a body whose execution was cancelled, and taking the interrupt back when the body is over.

In the flow: the heartbeat learns of a cancellation at its renewal and raises `ExecutionCancelled` in the body's thread,
at its next Python instruction: a call into C is not cut short. A body that does not let it out completes all the same.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any, cast

from dramatiq import middleware as dramatiq_middleware
from dramatiq.middleware import Interrupt

# Dramatiq leaves its arguments untyped.
_raise_in_thread = cast(
    "Callable[[int, type[BaseException]], None]", cast(Any, dramatiq_middleware).raise_thread_exception
)


class ExecutionCancelled(Interrupt):
    """Raised inside a body whose execution was cancelled while it ran."""


def interrupt(thread_id: int) -> None:
    """Raise `ExecutionCancelled` in a thread."""
    _raise_in_thread(thread_id, ExecutionCancelled)


def forget_interrupt() -> None:
    """Take back an interrupt of the calling thread that has not been raised yet."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

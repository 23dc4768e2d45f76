"""Interrupts a body whose execution was cancelled, and takes the interrupt back when the body is over.

In the flow: the heartbeat learns of a cancellation at its renewal and raises `ExecutionCancelled` in the body's thread,
at its next Python instruction: a call into C is not cut short. Under gevent (`dramatiq-gevent`) a body is a greenlet,
and is interrupted where it waits. A body that does not let it out completes all the same.
"""

import ctypes
import threading
from collections.abc import Callable
from typing import Any, cast

from dramatiq import threading as dramatiq_threading
from dramatiq.middleware import Interrupt

# Dramatiq leaves its arguments untyped.
_raise_in_thread = cast(
    "Callable[[int, type[BaseException]], None]", cast(Any, dramatiq_threading).raise_thread_exception
)
_gevent: Any = None
if cast(Any, dramatiq_threading).is_gevent_active():
    import gevent as _gevent  # type: ignore[no-redef]


class ExecutionCancelled(Interrupt):
    """Raised inside a body whose execution was cancelled while it ran."""


def running_greenlet() -> Any:
    """The greenlet that calls; None where threads are threads."""
    return None if _gevent is None else _gevent.getcurrent()


def interrupt(thread_id: int, greenlet: Any, is_over: Callable[[], bool]) -> None:
    """Raise `ExecutionCancelled` in a body.

    Args:
        thread_id: Its thread's.
        greenlet: Its greenlet, if it has one.
        is_over: Asked in the moment of raising, if that comes later.
    """
    if greenlet is None:
        _raise_in_thread(thread_id, ExecutionCancelled)
        return

    def throw() -> None:
        if not is_over() and not greenlet.dead:
            greenlet.throw(ExecutionCancelled)

    # From the hub, which nothing waits for: the caller goes on, and no other body is in the middle of anything.
    _gevent.get_hub().loop.run_callback(throw)


def forget_interrupt() -> None:
    """Take back an interrupt of the calling thread that has not been raised yet."""
    if _gevent is None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), None)

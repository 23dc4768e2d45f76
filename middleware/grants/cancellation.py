"""Interrupts a body whose execution was cancelled, and takes the interrupt back when the body is over.

In the flow: the heartbeat learns of a cancellation when it renews the lease, and raises `ExecutionCancelled` in the
body's thread at the next Python instruction: a call into C is not cut short. Under gevent (`dramatiq-gevent`) a body is
a greenlet, and is interrupted where it waits. A body that catches the exception completes normally.
"""

import ctypes
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast

from dramatiq import threading as dramatiq_threading
from dramatiq.middleware import Interrupt

# Dramatiq does not annotate this function's arguments.
_raise_in_thread = cast(
    "Callable[[int, type[BaseException]], None]", cast(Any, dramatiq_threading).raise_thread_exception
)
_gevent: Any = None
if cast(Any, dramatiq_threading).is_gevent_active():
    import gevent as _gevent  # type: ignore[no-redef]


class ExecutionCancelled(Interrupt):
    """Raised inside a body whose execution was cancelled while it ran."""


class _TakenBack(BaseException):
    """Raised in place of an interrupt that came too late, and caught at once."""


def running_greenlet() -> Any:
    """Return the calling greenlet; None without gevent."""
    return None if _gevent is None else _gevent.getcurrent()


def interrupt(thread_id: int, greenlet: Any, is_over: Callable[[], bool]) -> None:
    """Raise `ExecutionCancelled` in a body.

    Args:
        thread_id: The id of the body's thread.
        greenlet: The body's greenlet, if it has one.
        is_over: Whether the body is over; called just before a deferred raise.
    """
    if greenlet is None:
        _raise_in_thread(thread_id, ExecutionCancelled)
        return

    def throw() -> None:
        if not is_over() and not greenlet.dead:
            greenlet.throw(ExecutionCancelled)

    # The hub raises it later: the caller does not wait, and no other body is running at that moment.
    _gevent.get_hub().loop.run_callback(throw)


def forget_interrupt() -> None:
    """Take back an interrupt of the calling thread that has not been raised yet.

    Another is put in its place, and awaited. To put nothing there would do as well, but CPython up to 3.12 then looks
    for an interrupt at every call of the process for good, and 3.11 never comes back from a call under a tracer.
    """
    if _gevent is None:
        with suppress(_TakenBack):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(threading.get_ident()), ctypes.py_object(_TakenBack)
            )
            while True:
                pass  # it comes at one of these jumps, if it has not come yet

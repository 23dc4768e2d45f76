"""Redis connections that never make a thread wait beyond its deadline.

In the flow: `Scripts.repeat` sets until when the calling thread may wait; `direct_connection.py` makes the connections.
A timeout of redis-py applies to one step: one address of a host, one answer of the login, one piece of a reply. Steps
add up, so here each step waits at most for the time that the thread has left. Only resolving a host's name is not
bounded.
"""

import math
import socket
import threading
import time
from functools import cache
from types import TracebackType
from typing import Any, Final, cast

from redis.connection import AbstractConnection

_LEAST_SECONDS: Final = 0.001
"""The least timeout to set: for a socket, a timeout of 0 means non-blocking mode."""


class _Thread(threading.local):
    ends: float = math.inf


_thread: Final = _Thread()


class Until:
    """A context in which the calling thread waits for servers at most until a moment of the monotonic clock."""

    __slots__ = ("_before", "_ends")

    def __init__(self, ends: float) -> None:
        self._ends = ends
        self._before = math.inf

    def __enter__(self) -> None:
        # An outer deadline that is over was left behind when an interrupt kept `__exit__` from running: ignore it.
        self._before = _thread.ends if _thread.ends > time.monotonic() else math.inf
        _thread.ends = min(self._ends, self._before)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _thread.ends = self._before


class _BoundedSocket:
    """A connected socket whose sends and receives each wait for one step at most, and not beyond the deadline."""

    __slots__ = ("_set_seconds", "_slack_seconds", "_socket", "_step_seconds")

    def __init__(self, connected: socket.socket, step_seconds: float) -> None:
        self._socket = connected
        self._step_seconds = step_seconds
        # Setting a timeout is a system call, so a timeout that is nearly right stays.
        self._slack_seconds = step_seconds / 50
        self._set_seconds = math.inf

    def __getattr__(self, name: str) -> Any:
        return getattr(self._socket, name)

    def settimeout(self, seconds: float | None) -> None:
        self._socket.settimeout(seconds)
        self._set_seconds = math.inf if seconds is None else seconds

    def recv_into(self, buffer: bytearray) -> int:
        self._bound()
        return self._socket.recv_into(buffer)

    def recv(self, count: int, flags: int = 0) -> bytes:
        self._bound()
        return self._socket.recv(count, flags)

    def sendall(self, data: bytes) -> None:
        self._bound()
        self._socket.sendall(data)

    def _bound(self) -> None:
        left = min(self._step_seconds, _thread.ends - time.monotonic())
        if left <= 0:
            raise TimeoutError("the deadline is over")
        if abs(left - self._set_seconds) > self._slack_seconds:
            self.settimeout(left)


class _Bounded(AbstractConnection):
    """A mixin that bounds a class of connections."""

    def _connect(self) -> Any:
        opened = cast("socket.socket", super()._connect())
        return _BoundedSocket(opened, cast("float", self._socket_timeout))

    # redis-py reads these before each step of opening: socket_connect_timeout for each address, the other for TLS.
    @AbstractConnection.socket_timeout.getter
    def socket_timeout(self) -> float:
        return _for_opening(cast("float", self._socket_timeout))

    @AbstractConnection.socket_connect_timeout.getter
    def socket_connect_timeout(self) -> float:
        return _for_opening(cast("float", self._socket_connect_timeout))


def _for_opening(step_seconds: float) -> float:
    return max(_LEAST_SECONDS, min(step_seconds, _thread.ends - time.monotonic()))


@cache
def bounded(connections: type[AbstractConnection]) -> type[AbstractConnection]:
    """Return a bounded subclass of a class of connections; both of their timeouts must be set."""
    return type(f"Bounded{connections.__name__}", (_Bounded, connections), {})

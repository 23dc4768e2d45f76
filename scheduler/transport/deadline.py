"""Redis connections that never make a thread wait beyond its deadline.

In the flow: `Scripts.repeat` says until when the calling thread may wait; `direct_connection.py` makes the connections.
A timeout of redis-py's is for one step: one address of a host, one answer of the login, one piece of a reply. Steps add
up, so here each of them waits for what is left of the thread's time at most. Only resolving a host's name is not
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
"""A socket takes a timeout of 0 for something else."""


class _Thread(threading.local):
    ends: float = math.inf


_thread: Final = _Thread()


class Until:
    """Within it, the calling thread waits for a server until a moment of the monotonic clock at most."""

    __slots__ = ("_before", "_ends")

    def __init__(self, ends: float) -> None:
        self._ends = ends
        self._before = math.inf

    def __enter__(self) -> None:
        # One that is over was left behind by an interrupt that came just before its end: it bounds nothing any more.
        self._before = _thread.ends if _thread.ends > time.monotonic() else math.inf
        _thread.ends = min(self._ends, self._before)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        _thread.ends = self._before


class _BoundedSocket:
    """A connected socket; each piece that is sent or received waits for a step at most, and not beyond the deadline."""

    __slots__ = ("_set_seconds", "_slack_seconds", "_socket", "_step_seconds")

    def __init__(self, connected: socket.socket, step_seconds: float) -> None:
        self._socket = connected
        self._step_seconds = step_seconds
        # To set a timeout is a system call, so one that is nearly right stays.
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
    """What is put before a class of connections."""

    def _connect(self) -> Any:
        opened = cast("socket.socket", super()._connect())
        return _BoundedSocket(opened, cast("float", self._socket_timeout))

    # redis-py reads them before each step of opening: the second for each address, the first for TLS.
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
    """The same class of connections, bounded; both of their timeouts must be set."""
    return type(f"Bounded{connections.__name__}", (_Bounded, connections), {})

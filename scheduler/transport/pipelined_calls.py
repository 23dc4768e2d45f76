"""Pipelined script calls: sent one after the other on one connection, answered in order.

In the flow: `Parking` prepares the next page while the server works on the last one. All calls use one connection,
since the server keeps order only within one. When it fails, all unanswered calls are repeated in order, each with its
own token, so none takes effect twice. If the process dies, calls that were sent take effect. Each call has a deadline
of its own, but a hung server costs only one: time lost in sending is taken off the time to wait for an answer.
"""

import time
from collections import deque
from typing import Any

import redis
from redis.connection import AbstractConnection

from .deadline import Until
from .library import Script
from .scripts import Argument, Call, Scripts


class PipelinedCalls:
    """Pipelines calls on one connection. For one thread."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._unanswered: deque[Call] = deque()
        self._connection: AbstractConnection | None = None
        self._waited_seconds = 0.0
        self._has_failed = not scripts.connections.is_direct

    def send(self, script: Script, *arguments: Argument) -> None:
        """Send a call."""
        call = self._scripts.prepare(script, *arguments)
        self._unanswered.append(call)
        if self._has_failed:
            return
        began = time.monotonic()
        try:
            if self._connection is None:
                self._connection = self._scripts.connections.take()
            with Until(began + self._scripts.deadline_seconds):
                self._connection.send_packed_command((self._scripts.packed(script, call.arguments),))
        except (redis.ConnectionError, redis.TimeoutError):
            self._fail()
            self._waited_seconds = time.monotonic() - began

    def answer(self) -> Any:
        """Return the answer to the first call that is not answered yet.

        Raises:
            QueueUnavailable: As in `Call.run`.
        """
        call = self._unanswered[0]
        ends = time.monotonic() + self._scripts.deadline_seconds - self._waited_seconds
        if self._connection is not None:
            try:
                with Until(ends):
                    answer = self._scripts.checked(self._connection.read_response())
            except redis.RedisError:
                self._fail()  # the answer is lost, or the server has forgotten the script: `run` below handles both
            else:
                # Removed only now: `close` drops the connection while a call on it is unanswered.
                self._unanswered.popleft()
                return answer
        self._unanswered.popleft()
        answer = call.run(ends=ends)
        self._waited_seconds = 0.0
        return answer

    def close(self) -> None:
        """Stop reading answers."""
        if self._connection is not None and self._unanswered:
            self._fail()
        elif self._connection is not None:
            self._scripts.connections.keep(self._connection)
            self._connection = None

    def _fail(self) -> None:
        self._has_failed = True
        if self._connection is not None:
            self._scripts.connections.drop(self._connection)
            self._connection = None

"""Robots that call the API, each over a connection of its own, at as little cost as Python allows.

They share the machine with what they measure, so a request is bytes that are made once, and of an answer only what is
needed is read.
"""

import json
import socket
from typing import Any

from .api_calls import Calls

_SEEN_BYTES = 65_536


class Robot:
    """One connection to an API. To be used by one thread."""

    def __init__(self, calls: Calls, number: int) -> None:
        """Args: `calls`, whose token it has; `number`, its own."""
        self.robot_id = f"robot-{number}"
        self._connection = socket.create_connection(("127.0.0.1", calls.port), timeout=60)
        self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._authorization = calls.authorization

    def fileno(self) -> int:
        """The number of its connection, for a selector."""
        return self._connection.fileno()

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def request(self, method: str, path: str, body: object = None) -> bytes:
        """A request as it is sent."""
        sent = b"" if body is None else json.dumps(body).encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {self._authorization}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(sent)}\r\n\r\n"
        )
        return head.encode() + sent

    def wanting(self, queue: str, *, count: int = 1, wait_seconds: int = 0) -> bytes:
        """A request that takes items."""
        wanted = {"queue_name": queue, "robot_id": self.robot_id, "count": count, "wait_seconds": wait_seconds}
        return self.request("POST", "/api/v1/queue-items/next", wanted)

    def send(self, request: bytes) -> None:
        """Send a request, and wait for nothing."""
        self._connection.sendall(request)

    def answer(self) -> Any:
        """The document of the next answer.

        Raises:
            RuntimeError: If it is refused.
        """
        got = self._received()
        while b"\r\n\r\n" not in got:
            got += self._received()
        head, _, body = got.partition(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        while len(body) < length:
            body += self._received()
        if not head.startswith(b"HTTP/1.1 20"):
            raise RuntimeError(f"the API refuses: {body.decode()[:300]}")
        return json.loads(body)

    def ask(self, request: bytes) -> Any:
        """Send a request and return the document of its answer."""
        self.send(request)
        return self.answer()

    def _received(self) -> bytes:
        got = self._connection.recv(_SEEN_BYTES)
        if not got:
            raise RuntimeError("the API has hung up")
        return got

"""A stream of server-sent events as a test follows it, in a thread of its own."""

import json
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Any

import httpx


class Stream:
    """What a follower got."""

    def __init__(self, answer: httpx.Response) -> None:
        self.events: list[dict[str, Any]] = []
        self.ended = threading.Event()
        self._answer = answer
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        event: dict[str, Any] = {}
        try:
            for line in self._answer.iter_lines():
                name, _, value = line.partition(": ")
                if not line and event:
                    self.events.append(event)
                    event = {}
                elif name in ("id", "event"):
                    event[name] = value
                elif name == "data":
                    event["data"] = json.loads(value)
        except (httpx.HTTPError, httpx.StreamClosed):
            pass
        self.ended.set()

    def seen(self) -> list[tuple[str, str | None]]:
        return [(each["event"], each["data"].get("execution_id")) for each in self.events]

    def names(self) -> list[str]:
        return [each["event"] for each in self.events]

    def text(self) -> str:
        return "".join(each["data"]["text"] for each in self.events if each["event"] == "output")


@contextmanager
def followed(client: httpx.Client, path: str, last: str | None = None, **query: Any) -> Generator[Stream]:
    """Follow from the beginning, or after the event with the id `last`."""
    headers = {} if last is None else {"Last-Event-ID": last}
    with client.stream("GET", path, headers=headers, params=query) as answer:
        assert answer.status_code == 200, answer.read()
        assert answer.headers["Content-Type"].startswith("text/event-stream")
        try:
            yield Stream(answer)
        finally:
            # Closing alone would not wake the thread that reads.
            connection = answer.extensions["network_stream"].get_extra_info("socket")
            with suppress(OSError):  # the other end may be gone
                connection.shutdown(socket.SHUT_RDWR)

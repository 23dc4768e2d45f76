"""``Measuring``: this process's own HTTP figures: how many requests, how long they took, how many follow a stream.

In the flow: it stands before the border, so that what is refused there counts, too; `/metrics` at a port of its own
serves the figures (`metrics.api_port`). They begin at 0 with the process. Labels have few values, whatever callers
send: a route is its template, and a method that HTTP does not name is `other`.
"""

import re
import time
from collections.abc import Iterator
from typing import Any, Final

from prometheus_client import Counter, Gauge, Histogram
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..scheduler.metrics.buckets import BOUNDARIES_MS
from .application import V1

_METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
_OTHER: Final = "other"
_PREFIXES: Final = (f"{V1}/admin/executions", f"{V1}/admin", f"{V1}/executions", V1, "")
"""Where routers are included, the longest first: nothing that callers choose becomes a label."""
_BOUNDS: Final = tuple(bound / 1000 for bound in BOUNDARIES_MS if bound <= 60_000)
_STREAM: Final = b"text/event-stream"


class Measuring(Collector):
    """Counts what goes through the applications that it wraps. Safe to share between threads."""

    def __init__(self) -> None:
        labels = ("method", "route")
        self._requests = Counter(
            "bandmaster_api_requests", "Requests that were answered", (*labels, "status"), registry=None
        )
        self._seconds = Histogram(
            "bandmaster_api_request_seconds",
            "Until the answer ended, of a stream until it began",
            labels,
            registry=None,
            buckets=_BOUNDS,
        )
        self._streams = Gauge("bandmaster_api_streams", "Streams that are followed now", ("route",), registry=None)

    def collect(self) -> Iterator[Metric]:
        """The figures at this moment, without when each series began."""
        for family in (self._requests, self._seconds, self._streams):
            for metric in family.collect():
                metric.samples = [sample for sample in metric.samples if not sample.name.endswith("_created")]
                yield metric

    def around(self, application: ASGIApp) -> ASGIApp:
        """Return the application with its requests counted."""

        async def counted(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http":
                await application(scope, receive, send)
                return
            request = _Request(self, scope, send)
            try:
                await application(scope, receive, request.send)
            finally:
                request.end()

        return counted

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer; of a stream, its beginning."""
        self._requests.labels(method, route, f"{status // 100}xx").inc()
        self._seconds.labels(method, route).observe(seconds)

    def follows(self, route: str, by: int) -> None:
        """Count a follower in or out."""
        self._streams.labels(route).inc(by)


class _Request:
    """One request on its way."""

    def __init__(self, measuring: Measuring, scope: Scope, send: Send) -> None:
        self._measuring = measuring
        self._scope = scope
        self._send = send
        self._begun = time.monotonic()
        self._status: int | None = None
        self._followed: str | None = None

    async def send(self, message: Message) -> None:
        """Pass on a part of the answer."""
        if message["type"] == "http.response.start":
            self._status = status = int(message["status"])
            if any(name == b"content-type" and value.startswith(_STREAM) for name, value in message["headers"]):
                self._followed = self._route()
                self._count(status)
                self._measuring.follows(self._followed, 1)
        await self._send(message)

    def end(self) -> None:
        """The answer has ended, or whoever asked is gone. Without any answer, the server makes it a 500."""
        if self._followed is not None:
            self._measuring.follows(self._followed, -1)
        else:
            self._count(500 if self._status is None else self._status)

    def _count(self, status: int) -> None:
        method = self._scope["method"] if self._scope["method"] in _METHODS else _OTHER
        self._measuring.answered(method, self._route(), status, time.monotonic() - self._begun)

    def _route(self) -> str:
        """The template; known as soon as the request has found its route."""
        route: Any = self._scope.get("route")
        return _OTHER if route is None else template_of(self._scope["path"], route.path_regex, route.path_format)


def template_of(path: str, own: re.Pattern[str], relative: str) -> str:
    """Return the whole template of a route.

    Args:
        path: That of the request.
        own: What its router compares with, without the prefix under which the router was included.
        relative: The template, likewise.
    """
    for prefix in _PREFIXES:
        if path.startswith(prefix) and own.match(path.removeprefix(prefix)):
            return f"{prefix}{relative}"
    return _OTHER

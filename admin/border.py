"""``Border``: what a request has to be before any route sees it, and what every answer carries.

In the flow: an ASGI middleware around everything. `Host` must be a name by which the API may be called, so that no
website can reach it under a name of its own (DNS rebinding); a request that a page of another origin sends is refused.
A body that is too long or too slow ends the request, and what was read of it is forgotten; only what is submitted may
be long, and files of items longer.
"""

import asyncio
import re
import uuid
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..configs.api import LOOPBACK, ApiSettings
from ..scheduler.model.errors import shown
from .errors import Refused
from .problems import problem

_ANSWER_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
_OVER_TLS: Final = ("Strict-Transport-Security", "max-age=31536000")
"""Not of a loopback name: all servers of this machine share that, and few have TLS."""
_ONCE: Final = ("Authorization", "Idempotency-Key")
"""Of two, a proxy may have looked at another one than the routes do."""
CONTROL_BODY_BYTES: Final = 65_536
"""How long a body may be that submits nothing."""
ANSWERED_WITH: Final = "answered_with"
"""The name in a request's state of further headers for its answer, pairs: a route may make its answer by itself."""
_ANY: Final = "*"
_DISCARDED_BODIES: Final = 8
"""As much as so many bodies of the allowed length is read of one that is refused; then its connection ends."""


@dataclass(frozen=True, slots=True)
class _Bound:
    """How long the body of a request may be, and how long it may take."""

    most_bytes: int
    seconds: float
    of_bytes: str
    """The setting that says so; none: no setting does."""
    of_seconds: str

    @property
    def too_large(self) -> str:
        """What is said of one that is longer."""
        why = f" ({self.of_bytes})" if self.of_bytes else " here: it submits nothing"
        return f"a body may have {self.most_bytes} bytes{why}"


class Border:
    """Checks each request of an application."""

    def __init__(
        self,
        application: ASGIApp,
        *,
        allowed_hosts: Sequence[str],
        submitting_paths: Collection[str],
        uploading_paths: re.Pattern[str],
        settings: ApiSettings,
    ) -> None:
        """Args:
        application: What is behind it.
        allowed_hosts: Names without ports, ``*`` for any.
        submitting_paths: The paths whose bodies may have `max_body_bytes`.
        uploading_paths: Those whose bodies may have `max_upload_bytes`; all others have at most `CONTROL_BODY_BYTES`.
        settings: How many these are, and how long a body may take.
        """
        self._application = application
        self._allowed_hosts = frozenset(each.lower() for each in allowed_hosts)
        self._submitting_paths = frozenset(submitting_paths)
        self._uploading_paths = uploading_paths
        most_bytes, seconds = settings.max_body_bytes, settings.body_seconds
        self._submitted = _Bound(most_bytes, seconds, "api.max_body_bytes", "api.body_seconds")
        self._uploaded = _Bound(
            settings.max_upload_bytes, settings.upload_seconds, "api.max_upload_bytes", "api.upload_seconds"
        )
        self._control = self._submitted
        if most_bytes > CONTROL_BODY_BYTES:
            self._control = _Bound(CONTROL_BODY_BYTES, seconds, "", "api.body_seconds")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._application(scope, receive, send)
            return
        request_id = str(uuid.uuid4())
        bound = self._bound_of(scope["path"])
        given, began = Headers(scope=scope), False

        async def answer(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                headers = MutableHeaders(scope=message)
                for name, value in _ANSWER_HEADERS.items():
                    headers.setdefault(name, value)
                if scope["scheme"] == "https" and _host_of(f"//{given.get('host', '')}") not in LOOPBACK:
                    headers.setdefault(*_OVER_TLS)
                headers["X-Request-Id"] = request_id
                for name, value in scope.get("state", {}).get(ANSWERED_WITH, ()):
                    headers.append(name, value)
            await send(message)

        try:
            self._check(given, bound)
            await self._application(scope, self._bounded(receive, bound), answer)
        except Refused as refused:
            if began:
                raise
            await self._discard(receive)
            headers = refused.headers | {"Connection": "close"}
            await problem(refused.status, refused.code, str(refused), headers=headers)(scope, receive, answer)

    def _bound_of(self, path: str) -> _Bound:
        if path in self._submitting_paths:
            return self._submitted
        return self._uploaded if self._uploading_paths.fullmatch(path) else self._control

    def _check(self, headers: Headers, bound: _Bound) -> None:
        host = _host_of(f"//{headers.get('host', '')}")
        if _ANY not in self._allowed_hosts and host not in self._allowed_hosts:
            raise Refused(421, "host_not_allowed", f"{shown(host)} is no name of this API: see api.allowed_hosts")
        origin = headers.get("origin")
        if origin is not None and _place_of(origin) != headers.get("host", "").lower():
            raise Refused(403, "origin_not_allowed", f"a page of {shown(origin)} may not call this API")
        for name in _ONCE:
            if len(headers.getlist(name)) > 1:
                raise Refused(400, "refused", f"the header {name} is there more than once")
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > bound.most_bytes:
            raise Refused(413, "too_large", bound.too_large)

    async def _discard(self, receive: Receive) -> None:
        """Read what is still coming: a caller whose connection ends while it sends never reads why."""
        discarded = 0
        try:
            async with asyncio.timeout(self._submitted.seconds):
                while discarded < _DISCARDED_BODIES * self._submitted.most_bytes:
                    message = await receive()
                    discarded += len(message.get("body", b""))
                    if not message.get("more_body", False):
                        return
        except TimeoutError:
            pass

    def _bounded(self, receive: Receive, bound: _Bound) -> Receive:
        loop = asyncio.get_running_loop()
        ends = loop.time() + bound.seconds
        received, is_read = 0, False

        async def bounded() -> Message:
            nonlocal received, is_read
            if is_read:
                # What comes now tells only that the caller has gone.
                return await receive()
            try:
                async with asyncio.timeout_at(ends):
                    message = await receive()
            except TimeoutError:
                # FastAPI lets only its own kind of exception out of the reading of a body.
                detail = f"the body did not arrive within {bound.seconds:g} s ({bound.of_seconds})"
                raise HTTPException(408, detail, {"Connection": "close"}) from None
            received += len(message.get("body", b""))
            is_read = not message.get("more_body", False)
            if received > bound.most_bytes:
                raise HTTPException(413, bound.too_large, {"Connection": "close"})
            return message

        return bounded


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


def _place_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None

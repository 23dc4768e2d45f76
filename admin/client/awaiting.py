"""``AsyncClient``: calls the API from asyncio; the same as `Client` otherwise."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx
from pydantic import BaseModel

from ...configs.redaction import redacted_url
from ...items.item_lines import FileFormat
from ..answers.controls import Audit
from ..answers.executions import Accepted, ExecutionPage
from ..answers.following import Told
from ..answers.items import ExportedItem, UploadAnswer
from .async_working import AsyncWorking
from .call import Call, Content
from .calls import submit, upload, upload_items
from .errors import ApiUnavailable
from .files import Lines, Source, items_file, opened
from .following import Following, TryAgain
from .streams import Event, Reset, Stream, events, output
from .wire import TIMEOUT_SECONDS, document_of, options, pause_seconds, refusal_of, request_of
from .working import claim_of

T = TypeVar("T", bound=BaseModel)
P = TypeVar("P", ExecutionPage, Audit)


async def _in_threads(pieces: Iterator[bytes]) -> AsyncGenerator[bytes]:
    """The pieces of a file, whose disk may take its time."""
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece


class AsyncClient:
    """A client of one API, for one event loop; to be closed, or used in an `async with` block."""

    def __init__(self, url: str, token: str, *, timeout_seconds: float = TIMEOUT_SECONDS, verify: Any = True) -> None:
        """Makes no call.

        Args:
            url: Where the API is, like ``https://bandmaster.example``.
            token: As ``bandmaster token create`` prints it.
            timeout_seconds: How long one answer may take, and how long it may ask to be waited for.
            verify: As httpx takes it: False, or an `ssl.SSLContext`.

        Raises:
            InvalidRequest: If the URL or the token cannot be one.
        """
        self._url = redacted_url(url)
        self._timeout_seconds = timeout_seconds
        self._http = httpx.AsyncClient(**options(url, token, timeout_seconds, verify))

    async def submit(self, *, idempotency_key: str | None = None, **submission: Any) -> Accepted:
        """Send an execution, once, however often the request has to be sent.

        Args:
            idempotency_key: A key of the caller's own, under which it is carried out once for a day; None: a new one.
            submission: The fields of `Submission`, such as `command` or `script`, `priority`, `action`.

        Raises:
            ApiProblem: If it is refused.
            ApiUnavailable: If the API does not answer; it may have been accepted.
        """
        return await self.send(submit(submission, idempotency_key or uuid4().hex))

    async def upload(
        self, script: bytes, *, file_name: str = "script", idempotency_key: str | None = None, **submission: Any
    ) -> Accepted:
        """Send a script as a file, once, however often the request has to be sent.

        Args:
            script: The text of a program, in UTF-8.
            file_name: Its name.
            idempotency_key: As for `submit`.
            submission: The other fields of `Submission`.

        Raises:
            ApiProblem: If it is refused.
            ApiUnavailable: If the API does not answer; it may have been accepted.
        """
        return await self.send(upload(script, submission, idempotency_key or uuid4().hex, file_name))

    def next(
        self,
        queue: str,
        *,
        robot_id: str | None = None,
        wait_seconds: int = 0,
        lease_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> AsyncWorking:
        """Take the next item of a queue, for an `async with` block; the same as that of `Client` otherwise."""
        return AsyncWorking(
            self.send, claim_of(queue, robot_id, wait_seconds, lease_seconds, idempotency_key), robot_id
        )

    async def upload_items(
        self,
        queue: str,
        source: Source,
        *,
        format: FileFormat | str = FileFormat.JSONL,  # the API's word
        each: bool = False,
        idempotency_key: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> UploadAnswer:
        """Add the items of a file; the same as that of `Client`. Items are taken from their source at once."""
        with opened(source) as file:
            content = Content(file, FileFormat(format).media_type, progress)
            mode = "each" if each else None
            return await self.send(upload_items(queue, content, idempotency_key or uuid4().hex, mode))

    async def export_items(self, queue: str, **filters: Any) -> AsyncGenerator[ExportedItem]:
        """Yield the items of a queue, until `contextlib.aclosing` ends it; the same as that of `Client`."""
        lines = Lines(self._url)
        async with aclosing(self.export_file(queue, **filters)) as pieces:
            async for piece in pieces:
                for each in lines.feed(piece):
                    yield each

    async def export_file(
        self,
        queue: str,
        format: FileFormat | str = FileFormat.JSONL,  # the API's word
        **filters: Any,
    ) -> AsyncGenerator[bytes]:
        """Yield the pieces of a file of items, `jsonl` or `csv`; the same as `export_items` otherwise."""
        export = items_file(queue, format, **filters)
        try:
            async with self._http.stream("GET", export.path, params=dict(export.query)) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise refusal_of(answer)
                export.check(answer.headers, self._url)
                async for piece in answer.aiter_bytes():
                    yield piece
        except httpx.HTTPError as error:
            raise ApiUnavailable(str(error) or type(error).__name__, url=self._url) from error

    async def send(self, call: Call[T]) -> T:
        """Send a call (`bandmaster.client.calls`), again if no answer came and that does no harm.

        Raises:
            ApiProblem: If it is refused; `rate_limited`, if the API asks to wait for longer than `timeout_seconds`.
            ApiUnavailable: If the API does not answer.
        """
        tried = 0
        while True:
            tried += 1
            outcome: httpx.Response | httpx.HTTPError
            try:
                request = dict(request_of(call, self._timeout_seconds))
                if call.content is not None:
                    request["content"] = _in_threads(request["content"])
                outcome = await self._http.request(**request)
            except httpx.HTTPError as error:
                outcome = error
            pause = pause_seconds(call, tried, outcome, self._timeout_seconds)
            if pause is not None:
                await asyncio.sleep(pause)
                continue
            if isinstance(outcome, httpx.HTTPError):
                raise ApiUnavailable(str(outcome) or type(outcome).__name__, url=self._url) from outcome
            return document_of(call, outcome)

    async def pages(self, call: Call[P]) -> AsyncGenerator[P]:
        """Yield the answers of `calls.executions` or `calls.audit`, page by page, to the last.

        Raises:
            ApiProblem: If one is refused.
            ApiUnavailable: If the API does not answer.
        """
        following: Call[P] | None = call
        while following is not None:
            page = await self.send(following)
            yield page
            following = None if page.next is None else replace(call, query={**call.query, "cursor": page.next})

    def events(self, last_event_id: str | None = None) -> AsyncGenerator[Event | Reset]:
        """Yield what happens, as it happens, until `contextlib.aclosing` ends it; see `follow`.

        Args:
            last_event_id: The `event_id` of the last event that is known; None: from now on.
        """
        return self.follow(events(last_event_id))

    def output(self, execution_id: str, tail_bytes: int | None = None) -> AsyncGenerator[Told | Reset]:
        """Yield what an execution prints, as it comes, until it has ended; see `follow`.

        Args:
            execution_id: Of which.
            tail_bytes: Begin so many bytes before the present end of its output; None: at the beginning.
        """
        return self.follow(output(execution_id, tail_bytes))

    async def follow(self, stream: Stream[T]) -> AsyncGenerator[T | Reset]:
        """Yield the events of a stream (`bandmaster.client.streams`); `contextlib.aclosing` ends it.

        A connection that is lost is made again, after pauses that grow to half a minute, for as long as it takes, and
        goes on after the last event. Where that is not possible, a `Reset` comes: what is known has to be loaded anew.

        Raises:
            ApiProblem: If the API refuses, also later: a token may be revoked.
            ApiUnavailable: If the API does not answer at the beginning.
        """
        following = Following(stream, self._timeout_seconds)
        while not following.has_ended:
            at_least_seconds = 0.0
            try:
                async with self._http.stream(**following.request()) as answer:
                    if not answer.is_success:
                        await answer.aread()
                    for told in following.begin(answer):
                        yield told
                    async for piece in answer.aiter_bytes():
                        for told in following.feed(piece, self._url):
                            yield told
                        if following.has_ended:
                            return
            except TryAgain as again:
                at_least_seconds = again.pause_seconds
            except httpx.HTTPError as error:
                following.check_goes_on(error, self._url)
            await asyncio.sleep(following.pause_seconds(at_least_seconds))

    async def close(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    def __repr__(self) -> str:
        # Without the token.
        return f"AsyncClient({self._url!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.close()

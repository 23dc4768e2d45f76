"""``Client``: calls the API and waits for each answer."""

import time
from collections.abc import Callable, Generator
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
from .call import Call, Content
from .calls import submit, upload, upload_items
from .errors import ApiUnavailable
from .files import Lines, Source, items_file, opened
from .following import Following, TryAgain
from .streams import Event, Reset, Stream, events, output
from .wire import TIMEOUT_SECONDS, document_of, options, pause_seconds, refusal_of, request_of
from .working import Working, claim_of

T = TypeVar("T", bound=BaseModel)
P = TypeVar("P", ExecutionPage, Audit)


class Client:
    """A client of one API. Safe to share between threads; to be closed, or used in a `with` block."""

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
        self._http = httpx.Client(**options(url, token, timeout_seconds, verify))

    def submit(self, *, idempotency_key: str | None = None, **submission: Any) -> Accepted:
        """Send an execution, once, however often the request has to be sent.

        Args:
            idempotency_key: A key of the caller's own, under which it is carried out once for a day; None: a new one.
            submission: The fields of `Submission`, such as `command` or `script`, `priority`, `action`.

        Raises:
            ApiProblem: If it is refused.
            ApiUnavailable: If the API does not answer; it may have been accepted.
        """
        return self.send(submit(submission, idempotency_key or uuid4().hex))

    def upload(
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
        return self.send(upload(script, submission, idempotency_key or uuid4().hex, file_name))

    def next(
        self,
        queue: str,
        *,
        robot_id: str | None = None,
        wait_seconds: int = 0,
        lease_seconds: int | None = None,
        idempotency_key: str | None = None,
    ) -> Working:
        """Take the next item of a queue, for a `with` block: ``with client.next("invoices") as item``.

        Within the block the item is held, and its lease is renewed in the background; `item` is None if nothing waits.
        At the end of the block it is done; with a `BusinessException` it has failed for good, and the exception ends
        there; with any other it has failed, may be tried again, and the exception goes on.

        Args:
            queue: Its name.
            robot_id: Who takes it; None: the robot of the token.
            wait_seconds: How long to wait for an item if there is none.
            lease_seconds: For how long it is held, if this program dies; None: as the queue says.
            idempotency_key: A key of the caller's own, by which the same item is got again; None: a new one.
        """
        return Working(self.send, claim_of(queue, robot_id, wait_seconds, lease_seconds, idempotency_key), robot_id)

    def upload_items(
        self,
        queue: str,
        source: Source,
        *,
        format: FileFormat | str = FileFormat.JSONL,  # the API's word
        each: bool = False,
        idempotency_key: str | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> UploadAnswer:
        """Add the items of a file, each line once, however often the request has to be sent.

        Args:
            queue: Its name or id.
            source: A file as bytes, a binary file that can be read again, or items: mappings with `payload`,
                `reference`, `priority`, `deadline_at`, `postpone_until`.
            format: What a file is: `jsonl` or `csv`.
            each: Add each line that is right; else all lines, or nothing.
            idempotency_key: A key of the caller's own, under which each line is added once; None: a new one.
            progress: Is told how many bytes were sent, now and then.

        Raises:
            LinesRefused: If lines are wrong, without `each`.
            ApiProblem: If it is refused otherwise.
            ApiUnavailable: If the API does not answer; it may have been added.
        """
        with opened(source) as file:
            content = Content(file, FileFormat(format).media_type, progress)
            mode = "each" if each else None
            return self.send(upload_items(queue, content, idempotency_key or uuid4().hex, mode))

    def export_items(self, queue: str, **filters: Any) -> Generator[ExportedItem]:
        """Yield the items of a queue with payloads and results, the latest first.

        Args:
            queue: Its name or id.
            filters: `status`, `reference`, `robot_id`, `added_from`, `added_to`, as `calls.items` has them.

        Raises:
            ApiProblem: If it is refused.
            ApiUnavailable: If the API does not answer, or breaks off.
        """
        lines = Lines(self._url)
        for piece in self.export_file(queue, **filters):
            yield from lines.feed(piece)

    def export_file(
        self,
        queue: str,
        format: FileFormat | str = FileFormat.JSONL,  # the API's word
        **filters: Any,
    ) -> Generator[bytes]:
        """Yield the pieces of a file of items, `jsonl` or `csv`; the same as `export_items` otherwise."""
        export = items_file(queue, format, **filters)
        try:
            with self._http.stream("GET", export.path, params=dict(export.query)) as answer:
                if not answer.is_success:
                    answer.read()
                    raise refusal_of(answer)
                export.check(answer.headers, self._url)
                yield from answer.iter_bytes()
        except httpx.HTTPError as error:
            raise ApiUnavailable(str(error) or type(error).__name__, url=self._url) from error

    def send(self, call: Call[T]) -> T:
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
                outcome = self._http.request(**request_of(call, self._timeout_seconds))
            except httpx.HTTPError as error:
                outcome = error
            pause = pause_seconds(call, tried, outcome, self._timeout_seconds)
            if pause is not None:
                time.sleep(pause)
                continue
            if isinstance(outcome, httpx.HTTPError):
                raise ApiUnavailable(str(outcome) or type(outcome).__name__, url=self._url) from outcome
            return document_of(call, outcome)

    def pages(self, call: Call[P]) -> Generator[P]:
        """Yield the answers of `calls.executions` or `calls.audit`, page by page, to the last.

        Raises:
            ApiProblem: If one is refused.
            ApiUnavailable: If the API does not answer.
        """
        following: Call[P] | None = call
        while following is not None:
            page = self.send(following)
            yield page
            following = None if page.next is None else replace(call, query={**call.query, "cursor": page.next})

    def events(self, last_event_id: str | None = None) -> Generator[Event | Reset]:
        """Yield what happens, as it happens, until closing the iterator ends it; see `follow`.

        Args:
            last_event_id: The `event_id` of the last event that is known; None: from now on.
        """
        return self.follow(events(last_event_id))

    def output(self, execution_id: str, tail_bytes: int | None = None) -> Generator[Told | Reset]:
        """Yield what an execution prints, as it comes, until it has ended; see `follow`.

        Args:
            execution_id: Of which.
            tail_bytes: Begin so many bytes before the present end of its output; None: at the beginning.
        """
        return self.follow(output(execution_id, tail_bytes))

    def follow(self, stream: Stream[T]) -> Generator[T | Reset]:
        """Yield the events of a stream (`bandmaster.client.streams`); closing the iterator ends it.

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
                with self._http.stream(**following.request()) as answer:
                    if not answer.is_success:
                        answer.read()
                    yield from following.begin(answer)
                    for piece in answer.iter_bytes():
                        yield from following.feed(piece, self._url)
                        if following.has_ended:
                            return
            except TryAgain as again:
                at_least_seconds = again.pause_seconds
            except httpx.HTTPError as error:
                following.check_goes_on(error, self._url)
            time.sleep(following.pause_seconds(at_least_seconds))

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __repr__(self) -> str:
        # Without the token.
        return f"Client({self._url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

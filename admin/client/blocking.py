"""``Client``: calls the API and waits for each answer."""

import time
from types import TracebackType
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx
from pydantic import BaseModel

from ...configs.redaction import redacted_url
from ..answers.executions import Accepted
from .calls import Call, submit
from .errors import ApiUnavailable
from .wire import TIMEOUT_SECONDS, document_of, options, pause_seconds, request_of

T = TypeVar("T", bound=BaseModel)


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
                outcome = self._http.request(**request_of(call))
            except httpx.HTTPError as error:
                outcome = error
            pause = pause_seconds(call, tried, outcome, self._timeout_seconds)
            if pause is not None:
                time.sleep(pause)
                continue
            if isinstance(outcome, httpx.HTTPError):
                raise ApiUnavailable(str(outcome) or type(outcome).__name__, url=self._url) from outcome
            return document_of(call, outcome)

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()

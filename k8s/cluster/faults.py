"""Classifies failed calls to the API server: one error, whose fault says what the caller may do about it.

In the flow: `client.py` turns every failure into an ``ApiError``; the caller acts on its ``fault``. It is a
``PodsUnavailable``, so an unhandled error leaves the package as "try again". The error also says whether the failed
call may have had its effect. That decides whether a slot may be released: a pod whose creation got no answer may exist.
Pure.
"""

import email.utils
import time
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from pydantic import ValidationError

from ..errors import PodsUnavailable
from .objects import ApiStatus

MESSAGE_MAX_CHARS: Final = 500

#: A 403 is about the specification (Pod Security, LimitRange, a webhook) and thus permanent, unless its message has one
#: of these: the quota is used up, or the program's role or the namespace is not right, which others can correct.
_PASSING_403: Final = (
    "exceeded quota",
    "cannot create resource",
    "cannot get resource",
    "is being terminated",
    "error looking up service account",
    "no API token found",
)
#: Messages of a 500 that every retry gets again.
_PERMANENT_500: Final = ("request is too large", "larger than max")
#: Messages of a 500 of an admission webhook, which is called before anything is stored.
_UNSTORED_500: Final = ("failed calling webhook", "failed to call webhook", "denied the request")


class Fault(Enum):
    """The kinds of failures."""

    NOT_FOUND = auto()  #: 404
    CONFLICT = auto()  #: 409: the name is taken, the UID differs, or somebody changed the object first
    EXPIRED = auto()  #: 410: the version is too old for a watch, list again
    REJECTED = auto()  #: 400, 403, 413, 422: will never be accepted
    DENIED = auto()  #: 401, some 403: this program has no permission, or not now
    BUSY = auto()  #: 429, a webhook's 500: refused for the moment, without effect
    FAILED = auto()  #: 5xx: may or may not have had its effect
    SILENT = auto()  #: sent, but the answer was lost: may or may not have had its effect
    UNREACHABLE = auto()  #: never sent


class ApiError(PodsUnavailable):
    """A call to the API server that failed.

    Args:
        fault: The kind of failure.
        message: The server's message, or the network's.
        retry_after_seconds: How long to wait before the next try, if the server said so.
    """

    def __init__(self, fault: Fault, message: str, *, retry_after_seconds: float | None = None) -> None:
        super().__init__(message, pod_may_exist=fault in (Fault.FAILED, Fault.SILENT))
        self.fault = fault
        self.retry_after_seconds = retry_after_seconds

    @property
    def passing(self) -> bool:
        """Whether the same call may succeed a moment later."""
        return self.fault in (Fault.BUSY, Fault.FAILED, Fault.SILENT, Fault.UNREACHABLE)

    @property
    def may_have_happened(self) -> bool:
        """Whether the call may have had its effect nevertheless."""
        return self.pod_may_exist


def api_error(status: int, body: bytes, headers: Mapping[str, str] | None = None) -> ApiError:
    """Make the error for an answer.

    Args:
        status: The HTTP status.
        body: The answer's body, a ``Status`` object unless a proxy before the API server wrote it.
        headers: The answer's headers, for ``Retry-After``.
    """
    message = _message(status, body)
    return ApiError(_fault(status, message), message, retry_after_seconds=_retry_after(headers or {}))


def watch_error(status: ApiStatus) -> ApiError:
    """Make the error that a watch ended with."""
    message = status.message or status.reason or "the watch failed"
    # Some servers say "Expired" under another code.
    fault = Fault.EXPIRED if status.reason in ("Expired", "Gone") else _fault(status.code or 500, message)
    return ApiError(fault, message)


def _fault(status: int, message: str) -> Fault:
    match status:
        case 401:
            return Fault.DENIED
        case 403:
            return Fault.DENIED if any(words in message for words in _PASSING_403) else Fault.REJECTED
        case 404:
            return Fault.NOT_FOUND
        case 409:
            return Fault.CONFLICT
        case 410:
            return Fault.EXPIRED
        case 429:
            return Fault.BUSY
        case 408:
            return Fault.FAILED
        case _ if status >= 500:
            return _fault_of_server(message)
        case _:
            return Fault.REJECTED


def _fault_of_server(message: str) -> Fault:
    if any(words in message for words in _PERMANENT_500):
        return Fault.REJECTED
    return Fault.BUSY if any(words in message for words in _UNSTORED_500) else Fault.FAILED


def _message(status: int, body: bytes) -> str:
    try:
        text = ApiStatus.model_validate_json(body).message
    except ValidationError:
        # A load balancer's page, or plain text.
        text = body.decode(errors="replace").strip()
    text = " ".join(text.split())[:MESSAGE_MAX_CHARS]
    return f"the API server says {status}: {text or 'nothing'}"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    value = next((value for name, value in headers.items() if name.lower() == "retry-after"), "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None

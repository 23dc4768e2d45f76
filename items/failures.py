"""Of which kind a failure is, and when a failed item is tried again.

In the flow: `outcome` and `settling` ask here. Nothing here does I/O.
"""

from typing import Any, Final, cast

from .bounds import RETRY_MAX_SECONDS
from .states import Failure, Status

_TOLD_IN: Final = ("failure_reason", "reason", "type")
_BUSINESS: Final = "business"
_MOST_DOUBLED: Final = 20


def kind_of(told: Failure | None, result: Any, error_message: str | None) -> Failure:
    """Return of which kind a failure is.

    Args:
        told: As the robot says; None: it does not, and what it sent tells.
        result: What it sent: a `failure_reason`, `reason` or `type` with the word "business" says so.
        error_message: So does this word in the message.
    """
    if told is not None:
        return told
    texts = [error_message or ""]
    if isinstance(result, dict):
        of = cast("dict[str, Any]", result)
        texts += [of[name] for name in _TOLD_IN if isinstance(of.get(name), str)]
    return Failure.BUSINESS if any(_BUSINESS in text.lower() for text in texts) else Failure.APPLICATION


def pause_ms(retry_seconds: int, retries: int) -> int:
    """Return how long an item waits before it is tried again, in milliseconds.

    Args:
        retry_seconds: The queue's, before the first retry.
        retries: How many it has had: it waits twice as long after each, up to `RETRY_MAX_SECONDS`.
    """
    return min(retry_seconds * 2 ** min(retries, _MOST_DOUBLED), RETRY_MAX_SECONDS) * 1000


def after_failure(retries: int, max_retries: int, retry_seconds: int, at_ms: int) -> dict[str, Any]:
    """Return the columns of an item after a failure of the application.

    Args:
        retries: How many it has had.
        max_retries: The queue's.
        retry_seconds: The queue's, before the first retry.
        at_ms: The database's time.
    """
    if retries >= max_retries:
        return {"status": Status.FAILED, "ended_ms": at_ms}
    return {"retries": retries + 1} | put_off(at_ms + pause_ms(retry_seconds, retries), at_ms)


def put_off(until_ms: int, at_ms: int) -> dict[str, Any]:
    """Return the columns of an item that is not handed out before a time, both in Unix milliseconds."""
    if until_ms <= at_ms:
        return {"status": Status.NEW, "available_ms": None}
    return {"status": Status.POSTPONED, "available_ms": until_ms}

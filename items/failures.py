"""Of which kind a failure is, and when a failed item is tried again.

In the flow: `outcome` asks here. Nothing here does I/O.
"""

from typing import Any, Final, cast

from .bounds import RETRY_MAX_SECONDS
from .states import Failure

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

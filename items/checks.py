"""Checks of the values of queues, items and triggers, where they enter, whoever asks.

In the flow: each change asks here before its transaction begins. The API's models have the same bounds, from `bounds`,
so that its document tells them. No value is in any error.
"""

from collections.abc import Mapping
from typing import Any, Final

from ..scheduler.events.fields import TIMEOUT_MAX_SECONDS
from ..scheduler.model.cron import LINE_MAX_CHARS
from ..scheduler.model.errors import InvalidRequest
from .bounds import (
    BATCH_MAX,
    DESCRIPTION_MAX_CHARS,
    LEASE_MAX_SECONDS,
    MESSAGE_MAX_CHARS,
    MOST_CLAIMED,
    MOST_JOBS,
    POLLING_MAX_SECONDS,
    PRIORITY_MAX,
    PROGRESS_MAX_CHARS,
    REFERENCE_MAX_CHARS,
    RETRIES_MAX,
    RETRY_MAX_SECONDS,
    ZONE_MAX_CHARS,
)
from .json_texts import check_text
from .model import NO_DEADLINE_MS

_NUMBERS: Final[Mapping[str, tuple[int, int]]] = {
    "max_retries": (0, RETRIES_MAX),
    "lease_seconds": (1, LEASE_MAX_SECONDS),
    "retry_seconds": (0, RETRY_MAX_SECONDS),
    "priority": (-PRIORITY_MAX, PRIORITY_MAX),
    "deadline_ms": (0, NO_DEADLINE_MS - 1),
    "available_ms": (0, NO_DEADLINE_MS - 1),
    "count": (1, MOST_CLAIMED),
    "batch_size": (1, BATCH_MAX),
    "polling_interval": (1, POLLING_MAX_SECONDS),
    "max_jobs": (1, MOST_JOBS),
    "timeout_seconds": (1, TIMEOUT_MAX_SECONDS),
}
_TEXTS: Final[Mapping[str, tuple[int, int]]] = {
    "description": (0, DESCRIPTION_MAX_CHARS),
    "reference": (1, REFERENCE_MAX_CHARS),
    "error_message": (0, MESSAGE_MAX_CHARS),
    "progress": (0, PROGRESS_MAX_CHARS),
    "cron": (1, LINE_MAX_CHARS),
    "tz": (1, ZONE_MAX_CHARS),
}
_SWITCHES: Final = frozenset({"enforce_unique_reference", "is_active", "enabled"})
_MAY_BE_NONE: Final = frozenset({"deadline_ms", "available_ms", *_TEXTS}) - {"tz"}


def check_fields(values: Mapping[str, Any]) -> None:
    """Refuse values out of their bounds; fields that have none here are left alone.

    Raises:
        InvalidRequest: With the first such field.
    """
    for field, value in values.items():
        if value is None and field in _MAY_BE_NONE:
            continue
        if field in _NUMBERS:
            least, most = _NUMBERS[field]
            if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
                raise InvalidRequest(field, "it is out of bounds", allowed=f"a whole number from {least} to {most}")
        elif field in _TEXTS:
            least, most = _TEXTS[field]
            if not isinstance(value, str) or not least <= len(value) <= most:
                raise InvalidRequest(field, "it is too long or too short", allowed=f"{least} to {most} characters")
            check_text(field, value)
        elif field in _SWITCHES and not isinstance(value, bool):
            raise InvalidRequest(field, "it is neither true nor false", allowed="one of the two")

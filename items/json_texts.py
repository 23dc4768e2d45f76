"""Payloads and results as texts: the JSON value as it was given, bounded in bytes and depth.

In the flow: a value is checked once, where it enters, before a transaction begins. What comes out of the database is
read again as it was. No value is in any error.
"""

import json
import math
from typing import Any, Final, cast

from ..scheduler.model.errors import InvalidRequest
from .bounds import JSON_MOST_LEVELS

_WANTED: Final = "JSON without NUL, half surrogate pairs or numbers that are none"


def text_of(field: str, value: Any, *, max_bytes: int) -> str | None:
    """Return the text of a JSON value; None for none.

    Args:
        field: Its name, for the error.
        value: As it was read.
        max_bytes: How many bytes the text may have.

    Raises:
        InvalidRequest: If it is too long or too deep, or the database could not hold it.
    """
    if value is None:
        return None
    _check(field, value, 0)
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    size = len(text.encode())
    if size > max_bytes:
        raise InvalidRequest(field, f"it has {size:,} bytes", allowed=f"at most {max_bytes:,} bytes of JSON")
    return text


def value_of(text: str | None) -> Any:
    """Return the value of a text that was kept."""
    return None if text is None else json.loads(text)


def _check(field: str, value: Any, level: int) -> None:
    if level > JSON_MOST_LEVELS:
        raise InvalidRequest(field, "it is nested too deep", allowed=f"at most {JSON_MOST_LEVELS} levels")
    if isinstance(value, str):
        check_text(field, value)
    elif isinstance(value, float) and not math.isfinite(value):
        raise InvalidRequest(field, "it has a number that is not finite", allowed=_WANTED)
    elif isinstance(value, dict):
        for name, each in cast("dict[str, Any]", value).items():
            check_text(field, name)
            _check(field, each, level + 1)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            _check(field, each, level + 1)


def check_text(field: str, text: str) -> None:
    """Refuse a text that the database could not hold.

    Raises:
        InvalidRequest: If it has NUL, or half of a surrogate pair.
    """
    if "\0" in text:
        raise InvalidRequest(field, "it has a NUL character", allowed=_WANTED)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InvalidRequest(field, "it has half of a surrogate pair", allowed=_WANTED) from None

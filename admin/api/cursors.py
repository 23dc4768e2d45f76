"""Cursors: where a page of a list begins, as a text that callers pass on and do not read."""

import base64
import binascii
import json
from typing import Any, Final, cast

from ...scheduler.model.errors import InvalidRequest, shown

_MOST_CHARS: Final = 600


def cursor_of(*parts: str | int) -> str:
    """Return the cursor of a place."""
    return base64.urlsafe_b64encode(json.dumps(parts, separators=(",", ":")).encode()).decode().rstrip("=")


def read_cursor(cursor: str, *kinds: type) -> list[Any]:
    """Return a place again.

    Args:
        cursor: As `cursor_of` made it.
        kinds: The types of its parts.

    Raises:
        InvalidRequest: If it is none.
    """
    try:
        if len(cursor) > _MOST_CHARS:
            raise ValueError
        parts: Any = json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, binascii.Error, RecursionError):
        parts = None
    if not isinstance(parts, list) or [type(part) for part in cast("list[Any]", parts)] != list(kinds):
        raise InvalidRequest("cursor", f"{shown(cursor)} is none", allowed="the one of an earlier answer")
    found = cast("list[Any]", parts)
    if any(isinstance(part, int) and abs(part) >= 2**63 for part in found):
        raise InvalidRequest("cursor", f"{shown(cursor)} is none", allowed="the one of an earlier answer")
    return found

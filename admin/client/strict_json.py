"""JSON of what a program gives: its values as they are, or an error; nothing is changed into something similar.

In the flow: both clients make the bodies of their requests with it before anything is sent. A value that is not JSON,
like a set, is an error of the program, which has to see it: as a list it would be an item's result, and nobody would
know. No value is in the error of one that is not JSON.
"""

import json
from datetime import date
from typing import Any


def json_of(value: Any) -> str:
    """Return the text of a JSON value; dates and times in it are texts of ISO 8601.

    Raises:
        TypeError: If it is not JSON.
        ValueError: If it has a number that is not finite, or itself.
    """
    return json.dumps(value, default=_text, allow_nan=False)


def _text(value: object) -> str:
    if isinstance(value, date):  # a datetime is one, too
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")

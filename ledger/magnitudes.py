"""How long a hold lasted, as a power of four of milliseconds: by it, who held a gate at a time is found along an index.

In the flow: whoever writes that a hold ended writes its magnitude; `waits/holding.py` seeks by it. One of magnitude 3
lasted less than 64 ms, so that at 12:00 it began in the 64 ms before. Without it, an index would find all that ever
began before 12:00, or all that ended since.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, case

BASE: Final = 4
LAST: Final = 20
"""Less than 35 years; what lasts longer counts as the same."""


def magnitude_of(lasted_ms: int) -> int:
    """The magnitude of a hold that lasted so long."""
    return next((each for each in range(LAST) if lasted_ms < BASE**each), LAST)


def magnitude_in_sql(lasted_ms: ColumnElement[Any]) -> ColumnElement[int]:
    """The same, worked out by the database."""
    return case(*((lasted_ms < BASE**each, each) for each in range(LAST)), else_=LAST)

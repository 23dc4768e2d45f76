"""Which items are handed out next, in the one order of robots and triggers alike (D40).

In the flow: `claiming` and `firing` ask for them in the transaction that hands them out.
"""

from typing import Any, Final

from sqlalchemy import ColumnElement, Connection, CursorResult, bindparam, literal_column, select

from ..ledger.schema.tables import queue_items
from .states import Status

_OF: Final = queue_items.c
ORDER: Final = (_OF.rank, _OF.deadline_ms, _OF.created_ms, _OF.item_id)
"""Priority (larger first, since the rank is minus it), then the deadline (none last), then acceptance."""


def is_status(status: Status) -> ColumnElement[bool]:
    """Return the condition that an item has a status, which is written into the statement.

    A plan that PostgreSQL keeps for all values of a parameter uses no index of some statuses only.
    """
    return _OF.status == literal_column(f"'{status}'")


PICKED: Final = tuple(
    each for each in _OF if each.name not in {"unique_reference", "claim_key", "add_key", "last_outcome"}
)
"""The columns of an item; the others are only for what is written."""

# Made once: to make a statement costs more than to send it.
_PICKED: Final = (
    select(*PICKED)
    .where(_OF.queue_id == bindparam("of_queue"), is_status(Status.NEW))
    .order_by(*ORDER)
    .limit(bindparam("most"))
    .with_for_update(skip_locked=True)
)


def pick(connection: Connection, queue_id: int, limit: int) -> list[Any]:
    """Return rows of items of a queue that nobody holds, locked on PostgreSQL; what others are at is passed over.

    Args:
        connection: Of a transaction that writes.
        queue_id: Of which queue.
        limit: How many at most.
    """
    found: CursorResult[Any] = connection.execute(_PICKED, {"of_queue": queue_id, "most": limit})
    return list(found)

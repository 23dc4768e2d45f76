"""Which items are handed out next, in the one order of robots and triggers alike (D40).

In the flow: `claiming` and `firing` ask for them in the transaction that hands them out.
"""

from typing import Any, Final

from sqlalchemy import Connection, select

from ..ledger.schema.tables import queue_items
from .states import Status

_OF: Final = queue_items.c
ORDER: Final = (_OF.rank, _OF.deadline_ms, _OF.created_ms, _OF.item_id)
"""Priority (larger first, since the rank is minus it), then the deadline (none last), then acceptance."""


def pick(connection: Connection, queue_id: int, limit: int) -> list[Any]:
    """Return rows of items of a queue that nobody holds, locked on PostgreSQL; what others are at is passed over.

    Args:
        connection: Of a transaction that writes.
        queue_id: Of which queue.
        limit: How many at most.
    """
    waits = select(queue_items).where(_OF.queue_id == queue_id, _OF.status == Status.NEW)
    return list(connection.execute(waits.order_by(*ORDER).limit(limit).with_for_update(skip_locked=True)))

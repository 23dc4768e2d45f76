"""Gives back what time has given back: postponed items that are due, and items whose lease has ended.

In the flow: a claim from a queue where something is due begins with it, in its own transaction, and so does whoever
looks at a queue, so that what is shown is true. An item whose lease ended three times is handed out no more: whatever
it is, it kills its robots. What an execution works on (`job_id`) has no lease, and ends with the execution.
"""

from typing import Any

from sqlalchemy import Connection, Select, case, exists, or_, select, update

from ..ledger.schema.tables import queue_items
from .bounds import RETURNED_A_PAGE
from .notifying.outbox import note_items
from .picking import is_status
from .states import MOST_ABANDONED, Status
from .store import Store, now_of


def give_back(connection: Connection, queue_id: int, at_ms: int) -> int:
    """Give back a page of what is due in a queue; how many items that were.

    Args:
        connection: Of a transaction that writes.
        queue_id: The queue.
        at_ms: The database's time.
    """
    of = queue_items.c
    due = select(of.item_id).where(of.queue_id == queue_id, of.status == Status.POSTPONED, of.available_ms <= at_ms)
    found = _page(connection, due.order_by(of.available_ms))
    if found:
        again = update(queue_items).where(of.item_id.in_(found))
        connection.execute(
            again.values(status=Status.NEW, available_ms=None, revision=of.revision + 1, updated_ms=at_ms)
        )
    over = select(of.item_id).where(
        of.queue_id == queue_id, of.status == Status.IN_PROGRESS, of.locked_until_ms <= at_ms
    )
    lost = _page(connection, over.order_by(of.locked_until_ms))
    if lost:
        is_over = of.abandoned + 1 >= MOST_ABANDONED
        connection.execute(
            update(queue_items)
            .where(of.item_id.in_(lost))
            .values(
                status=case((is_over, Status.ABANDONED.value), else_=Status.NEW.value),
                ended_ms=case((is_over, at_ms), else_=None),
                abandoned=of.abandoned + 1,
                revision=of.revision + 1,
                updated_ms=at_ms,
            )
        )
        note_items(connection, lost, at_ms)
    return len(found) + len(lost)


def is_due(queue_id: Any, at_ms: Any) -> Any:
    """Return the condition that there is something to give back in a queue at a time: values, or columns of them."""
    of = queue_items.c
    late = exists().where(of.queue_id == queue_id, is_status(Status.POSTPONED), of.available_ms <= at_ms)
    over = exists().where(of.queue_id == queue_id, is_status(Status.IN_PROGRESS), of.locked_until_ms <= at_ms)
    return or_(late, over)


def give_back_all(store: Store, queue_id: int) -> int:
    """Give back all that is due in a queue, a page a transaction, if there is something; how many items that were.

    Raises:
        LedgerError: If the database does not answer.
    """
    returned = 0
    if not store.read(lambda connection: connection.execute(select(is_due(queue_id, now_of(connection)))).scalar()):
        return returned
    while page := store.write(lambda connection: give_back(connection, queue_id, now_of(connection))):
        returned += page
        if page < RETURNED_A_PAGE:
            break
    return returned


def _page(connection: Connection, found: Select[Any]) -> list[str]:
    # Others give back as well: what they are at is left to them.
    return list(connection.execute(found.limit(RETURNED_A_PAGE).with_for_update(skip_locked=True)).scalars())

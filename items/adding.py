"""``Adding``: takes an item into a queue.

In the flow: programs with work, robots and the command line add one at a time. The payload is checked against the
queue's schema before the transaction begins; in it, the queue's row is shared, so that a queue that was closed
meanwhile takes nothing. If the answer is lost, the same request with the same key gets the same item (D39); without a
key, a queue that wants each reference once says which item has it.
"""

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select

from ..ledger.schema.tables import queue_items
from ..ledger.statements import insert_or
from ..scheduler.model.identifiers import new_execution_id
from .bounds import PAYLOAD_MAX_BYTES
from .checks import check_fields
from .errors import DuplicateReference, KeyReused, QueueInactive
from .failures import put_off
from .json_texts import text_of
from .model import NO_DEADLINE_MS, Item, Queue, item_of
from .queues import queue_in
from .schemas import check_payload
from .store import Store, now_of

PAYLOAD: Final = "payload"


class Adding:
    """Adds to one ledger. Safe to share between threads."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def add(
        self,
        queue: Queue,
        *,
        by: str,
        payload: Any = None,
        reference: str | None = None,
        priority: int = 0,
        deadline_ms: int | None = None,
        available_ms: int | None = None,
        key: str | None = None,
    ) -> Item:
        """Add an item.

        Args:
            queue: The queue, as it was found.
            by: Who asks.
            payload: Any JSON value.
            reference: By which people find it again.
            priority: Larger is handed out first.
            deadline_ms: Of equal priority, an earlier one is handed out first; Unix milliseconds.
            available_ms: Not before this time, Unix milliseconds; None: at once.
            key: A digest of who asks and of the key of the request; None: it has none.

        Raises:
            QueueUnknown: If the queue was deleted.
            QueueInactive: If it takes nothing.
            DuplicateReference: If another item has the reference, and the queue wants each once.
            KeyReused: If the key came with something else before.
            InvalidRequest: If a field is out of its bounds, or the payload is not as it should be.
            LedgerError: If the database does not answer.
        """
        values = checked(
            queue,
            payload=payload,
            reference=reference,
            priority=priority,
            deadline_ms=deadline_ms,
            available_ms=available_ms,
        )

        def work(connection: Connection) -> Item:
            found = queue_in(connection, queue.queue_id, shares=True)
            if not found.is_active:
                raise QueueInactive(found.name)
            return insert(connection, found, values, by=by, key=key, at_ms=now_of(connection))[0]

        return self._store.write(work)


def checked(
    queue: Queue,
    *,
    payload: Any = None,
    reference: str | None = None,
    priority: int = 0,
    deadline_ms: int | None = None,
    available_ms: int | None = None,
) -> dict[str, Any]:
    """Return what a row has of a new item, before the transaction that writes it; the arguments are those of `add`.

    Raises:
        InvalidRequest: As `add` says.
    """
    times = {"deadline_ms": deadline_ms, "available_ms": available_ms}
    check_fields({"reference": reference, "priority": priority, **times})
    text = text_of(PAYLOAD, payload, max_bytes=PAYLOAD_MAX_BYTES)
    check_payload(queue.payload_schema, payload)
    return {
        "item_id": new_execution_id(),
        "reference": reference,
        "rank": -priority,
        "deadline_ms": NO_DEADLINE_MS if deadline_ms is None else deadline_ms,
        "payload": text,
        "available_ms": available_ms,
    }


def insert(
    connection: Connection, queue: Queue, new: Mapping[str, Any], *, by: str, key: str | None, at_ms: int
) -> tuple[Item, bool]:
    """Write a new item, unless the same request has done so before.

    Args:
        connection: Of the transaction.
        queue: As it is in the transaction.
        new: What was `checked`.
        by: Who asks.
        key: As `add` says.
        at_ms: Now, by the database's clock.

    Returns:
        The item, and whether it is new.

    Raises:
        DuplicateReference: As `add` says.
        KeyReused: Likewise.
    """
    values = row_of(queue, new, by=by, key=key, at_ms=at_ms)
    statement = insert_or(connection, queue_items).values(values).on_conflict_do_nothing()
    row = connection.execute(statement.returning(queue_items)).one_or_none()
    if row is None:
        return there_already(connection, values, new["available_ms"], queue.name), False
    return item_of(row), True


def row_of(queue: Queue, new: Mapping[str, Any], *, by: str, key: str | None, at_ms: int) -> dict[str, Any]:
    """Return the row of a new item; the arguments are those of `insert`."""
    available_ms = at_ms if new["available_ms"] is None else new["available_ms"]
    return {
        **new,
        "queue_id": queue.queue_id,
        "unique_reference": new["reference"] if queue.enforce_unique_reference else None,
        "retries": 0,
        "abandoned": 0,
        "fence": 0,
        "add_key": key,
        "revision": 1,
        "created_ms": at_ms,
        "created_by": by,
        "updated_ms": at_ms,
        **put_off(available_ms, at_ms),
    }


def key_of(*parts: str) -> str:
    """Return the digest of a key: of whom it is, for what, and what was sent."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def there_already(connection: Connection, values: dict[str, Any], available_ms: int | None, queue: str) -> Item:
    """Return the item that this request added before, where its row was not taken.

    Args:
        connection: Of the transaction.
        values: The row.
        available_ms: Before when it was not to be handed out, as it was given.
        queue: The name of its queue.

    Raises:
        KeyReused: If another one did.
        DuplicateReference: If it has the reference only.
    """
    of = queue_items.c
    if values["add_key"] is not None:
        row = connection.execute(select(queue_items).where(of.add_key == values["add_key"])).one_or_none()
        if row is not None:
            names = ("queue_id", "reference", "payload")
            if row.revision == 1:
                # As it was added; later an operator, a failure or the clock may have changed these.
                names += ("rank", "deadline_ms", "available_ms")
                added_ms = row.created_ms
                values |= put_off(added_ms if available_ms is None else available_ms, added_ms)
            if any(getattr(row, name) != values[name] for name in names):
                raise KeyReused
            return item_of(row)
    taken = select(of.item_id).where(
        of.queue_id == values["queue_id"], of.unique_reference == values["unique_reference"]
    )
    raise DuplicateReference(values["reference"], queue, connection.execute(taken).scalar_one_or_none())

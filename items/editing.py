"""``Editing``: what operators change of an item, each under what they saw of it.

In the flow: a person reads an item, with its revision, and changes it by that: whoever was quicker wins, and the other
reads again. Each change is one transaction with its line in the audit. An item that is taken from a robot is that
robot's no more: its outcome is refused, and it is told why. If the answer is lost, the revision tells whether it was
done.
"""

from collections.abc import Mapping
from typing import Any, Final

from sqlalchemy import Connection, select, update

from ..ledger.errors import RowsTaken
from ..ledger.schema.tables import queue_items
from .adding import PAYLOAD
from .bounds import PAYLOAD_MAX_BYTES
from .changes import Verb, differences, note_change
from .checks import check_fields
from .errors import DuplicateReference, ItemChanged, ItemUnknown, WrongStatus
from .failures import put_off
from .json_texts import text_of
from .model import NO_DEADLINE_MS, Item, Queue, item_of
from .queues import queue_in
from .schemas import check_payload
from .states import ENDED, By, Status, check_change
from .store import Store, now_of

_SHOWN: Final = ("status", "priority", "deadline_ms", "reference", "available_ms")


class Editing:
    """Changes items of one ledger. Safe to share between threads. Each method raises LedgerError if the database does
    not answer."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def edit(self, item_id: str, changed: Mapping[str, Any], *, by: str, revision: int | None) -> Item:
        """Change an item.

        Args:
            item_id: Which.
            changed: Of `priority`, `deadline_ms`, `reference`, `payload`, `available_ms` (it is POSTPONED until then)
                and `status` (NEW: it is tried again, or not put off any more), those that are to have other values.
            by: Who asks, for the audit.
            revision: The one that the caller saw; None: any.

        Raises:
            ItemUnknown: If there is none.
            ItemChanged: If it was changed meanwhile.
            WrongStatus: If its status does not allow it.
            DuplicateReference: If another item has the reference, and the queue wants each once.
            InvalidRequest: If a field is not allowed, or the payload is not as the queue wants it.
        """
        values = dict(changed)
        check_fields(values)
        queue = self._store.read(lambda connection: _queue_of(connection, item_id))
        if PAYLOAD in values:
            check_payload(queue.payload_schema, values[PAYLOAD])
            values[PAYLOAD] = text_of(PAYLOAD, values[PAYLOAD], max_bytes=PAYLOAD_MAX_BYTES)

        def work(connection: Connection) -> Item:
            before, at_ms = _locked(connection, item_id, revision), now_of(connection)
            columns = _columns(before, values, queue, at_ms)
            columns |= {"revision": before.revision + 1, "updated_ms": at_ms}
            of_item = update(queue_items).where(queue_items.c.item_id == item_id)
            after = item_of(connection.execute(of_item.values(columns).returning(queue_items)).one())
            said = differences(_shown(before), _shown(after))
            new_payload = ("payload", "another payload") if after.payload != before.payload else ("", "")
            texts = ["; ".join(filter(None, pair)) for pair in zip(said, new_payload, strict=True)]
            note_change(connection, Verb.EDIT_ITEM, item_id, texts[0], texts[1], by=by, at_ms=at_ms)
            return after

        try:
            return self._store.write(work)
        except RowsTaken:
            raise DuplicateReference(str(values.get("reference")), queue.name, None) from None

    def delete(self, item_id: str, *, by: str, revision: int | None) -> Item:
        """Delete an item softly: it stays, with all that it has, until its time is over, and its reference is free.

        Args:
            item_id: Which.
            by: Who asks, for the audit.
            revision: The one that the caller saw; None: any.

        Raises:
            ItemUnknown: If there is none.
            ItemChanged: If it was changed meanwhile.
        """

        def work(connection: Connection) -> Item:
            before, at_ms = _locked(connection, item_id, revision), now_of(connection)
            if before.status is Status.DELETED:
                return before
            check_change(before.status, Status.DELETED, By.OPERATOR)
            row = connection.execute(
                update(queue_items)
                .where(queue_items.c.item_id == item_id)
                .values(
                    status=Status.DELETED,
                    unique_reference=None,
                    available_ms=None,
                    ended_ms=at_ms,
                    revision=before.revision + 1,
                    updated_ms=at_ms,
                )
                .returning(queue_items)
            ).one()
            note_change(connection, Verb.DELETE_ITEM, item_id, before.status, Status.DELETED, by=by, at_ms=at_ms)
            return item_of(row)

        return self._store.write(work)


def _queue_of(connection: Connection, item_id: str) -> Queue:
    found = connection.execute(select(queue_items.c.queue_id).where(queue_items.c.item_id == item_id))
    queue_id = found.scalar_one_or_none()
    if queue_id is None:
        raise ItemUnknown(item_id)
    return queue_in(connection, queue_id)


def _locked(connection: Connection, item_id: str, revision: int | None) -> Item:
    found = select(queue_items).where(queue_items.c.item_id == item_id).with_for_update()
    row = connection.execute(found).one_or_none()
    if row is None:
        raise ItemUnknown(item_id)
    if revision is not None and row.revision != revision:
        raise ItemChanged(f"item {item_id}")
    return item_of(row)


def _columns(before: Item, values: Mapping[str, Any], queue: Queue, at_ms: int) -> dict[str, Any]:
    if before.status in ENDED and "status" not in values:
        # What has ended is history; it may be tried again, and changed with that.
        raise WrongStatus(before.status, before.status, allowed=[], by=By.OPERATOR)
    columns: dict[str, Any] = {}
    if "priority" in values:
        columns["rank"] = -values["priority"]
    if "deadline_ms" in values:
        columns["deadline_ms"] = NO_DEADLINE_MS if values["deadline_ms"] is None else values["deadline_ms"]
    if "reference" in values:
        columns["reference"] = values["reference"]
        columns["unique_reference"] = values["reference"] if queue.enforce_unique_reference else None
    if PAYLOAD in values:
        if before.status is Status.IN_PROGRESS:
            raise WrongStatus(before.status, before.status, allowed=["a new payload when it waits"], by=By.OPERATOR)
        columns[PAYLOAD] = values[PAYLOAD]
    if values.get("available_ms") is not None:
        check_change(before.status, Status.POSTPONED, By.OPERATOR)
        columns |= put_off(values["available_ms"], at_ms)
    elif values.get("status") is Status.NEW and before.status is not Status.NEW:
        check_change(before.status, Status.NEW, By.OPERATOR)
        # As if it were new: what it has behind it does not count.
        columns |= {"status": Status.NEW, "available_ms": None, "ended_ms": None, "retries": 0, "abandoned": 0}
        columns |= {"failure": None}
    return columns


def _shown(item: Item) -> dict[str, object]:
    return {name: getattr(item, name) for name in _SHOWN}

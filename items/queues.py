"""``Queues``: made, changed, deleted and found.

In the flow: administrators make them, everything else asks here which queue is meant. Each change is one transaction,
with its line in the audit; the deletion of a queue that has items goes in pages, and is finished by whoever asks again
if the process dies: the queue is inactive from its beginning on, so that nothing comes meanwhile.
"""

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final
from uuid import uuid4

from sqlalchemy import Connection, Select, delete, insert, select, update

from ..configs.notify import NotifySettings
from ..ledger.errors import RowsTaken
from ..ledger.schema.tables import item_queues, queue_items, triggers
from .bounds import DELETED_A_PAGE
from .changes import Verb, differences, note_change
from .checks import check_fields
from .errors import ItemChanged, QueueHasItems, QueueHasTriggers, QueueNameTaken, QueueUnknown
from .model import Queue, queue_of
from .names import check_queue_name
from .notifying.address import NOTIFY_URL, check_address, shown_address
from .schemas import check_schema
from .states import Status
from .store import Store, now_of

_SHOWN: Final = (
    *("name", "description", "max_retries", "enforce_unique_reference", "is_active", "lease_seconds", "retry_seconds"),
)


class Queues:
    """The queues of one ledger. Safe to share between threads. Each method raises LedgerError if the database does not
    answer."""

    def __init__(self, store: Store, notify: NotifySettings) -> None:
        """Makes no connection. `notify` judges addresses."""
        self._store = store
        self._notify = notify

    def all(self) -> list[Queue]:
        """Return all queues, by name."""
        return self._store.read(
            lambda connection: [
                queue_of(row) for row in connection.execute(select(item_queues).order_by(item_queues.c.name))
            ]
        )

    def find(self, queue: str | int) -> Queue:
        """Return a queue.

        Args:
            queue: Its name, or its id.

        Raises:
            QueueUnknown: If there is none.
        """
        return self._store.read(lambda connection: queue_in(connection, queue))

    def create(self, name: str, *, by: str, payload_schema: Any = None, **fields: Any) -> Queue:
        """Make a queue.

        Args:
            name: Its name, which no other has.
            by: Who asks, for the audit.
            payload_schema: A JSON Schema for the payloads of its items; None: any payload.
            fields: The other fields of `Queue`.

        Raises:
            QueueNameTaken: If another has the name.
            InvalidRequest: If a field is not allowed, the schema is none, or nothing could be sent to the address.
        """
        check_queue_name(name)
        check_fields(fields)
        check_address(fields, self._notify)
        schema = check_schema(payload_schema)

        def work(connection: Connection) -> Queue:
            at_ms = now_of(connection)
            if connection.execute(select(item_queues.c.queue_id).where(item_queues.c.name == name)).first():
                raise QueueNameTaken(name)
            row = connection.execute(
                insert(item_queues)
                .values(
                    name=name,
                    external_id=str(uuid4()),
                    payload_schema=schema,
                    revision=1,
                    created_ms=at_ms,
                    updated_ms=at_ms,
                    **fields,
                )
                .returning(item_queues)
            ).one()
            made = queue_of(row)
            note_change(connection, Verb.CREATE_QUEUE, subject_of(name), None, _text(made), by=by, at_ms=at_ms)
            return made

        try:
            return self._store.write(work)
        except RowsTaken:
            # Another transaction was quicker.
            raise QueueNameTaken(name) from None

    def change(self, queue: str | int, changed: Mapping[str, Any], *, by: str, revision: int | None) -> Queue:
        """Change a queue.

        Args:
            queue: Its name, or its id.
            changed: The fields that are to have other values.
            by: Who asks, for the audit.
            revision: The one that the caller saw; None: any.

        Raises:
            QueueUnknown: If there is none.
            ItemChanged: If it was changed meanwhile.
            QueueNameTaken: If another has the name.
            QueueHasItems: If references were to become unique, or no longer, and there are items.
            InvalidRequest: If a field is not allowed, the schema is none, or nothing could be sent to the address.
        """
        check_address(changed, self._notify)
        values = dict(changed)
        check_fields(values)
        if "name" in values:
            check_queue_name(values["name"])
        if "payload_schema" in values:
            values["payload_schema"] = check_schema(values["payload_schema"])

        def work(connection: Connection) -> Queue:
            before = queue_in(connection, queue, locks=True)
            if revision is not None and revision != before.revision:
                raise ItemChanged(f"queue {before.name!r}")
            unique = values.get("enforce_unique_reference", before.enforce_unique_reference)
            if unique != before.enforce_unique_reference and _has_items(connection, before.queue_id):
                what = "whether references are unique can be changed of an empty queue only"
                raise QueueHasItems(before.name, what)
            at_ms = now_of(connection)
            row = connection.execute(
                update(item_queues)
                .where(item_queues.c.queue_id == before.queue_id)
                .values(revision=before.revision + 1, updated_ms=at_ms, **values)
                .returning(item_queues)
            ).one()
            after = queue_of(row)
            said = differences(_shown(before), _shown(after))
            note_change(connection, Verb.CHANGE_QUEUE, subject_of(before.name), *said, by=by, at_ms=at_ms)
            return after

        try:
            return self._store.write(work)
        except RowsTaken:
            raise QueueNameTaken(str(values.get("name"))) from None

    def delete(self, queue: str | int, *, by: str, force: bool) -> int:
        """Delete a queue.

        Args:
            queue: Its name, or its id.
            by: Who asks, for the audit.
            force: Whether its items are deleted with it, so that nothing is left of them.

        Returns:
            How many items were deleted.

        Raises:
            QueueUnknown: If there is none.
            QueueHasItems: If it has items that are not deleted, and they were not to be deleted.
            QueueHasTriggers: If a trigger fires for it.
        """

        def close(connection: Connection) -> Queue:
            found = queue_in(connection, queue, locks=True)
            _check_triggers(connection, found)
            if not force and _has_items(connection, found.queue_id):
                raise QueueHasItems(found.name, "`force=true` deletes them with it")
            stopped = update(item_queues).where(item_queues.c.queue_id == found.queue_id)
            connection.execute(stopped.values(is_active=False))
            return replace(found, is_active=False)

        found, deleted = self._store.write(close), 0
        oldest = select(queue_items.c.item_id).where(queue_items.c.queue_id == found.queue_id).limit(DELETED_A_PAGE)

        def page(connection: Connection) -> int:
            return connection.execute(delete(queue_items).where(queue_items.c.item_id.in_(oldest))).rowcount

        while count := self._store.write(page):
            deleted += count

        def end(connection: Connection) -> bool:
            # Who adds holds the queue's row until it has committed, so that none comes after the last page.
            queue_in(connection, found.queue_id, locks=True)
            if connection.execute(oldest.limit(1)).first() is not None:
                return False
            _check_triggers(connection, found)
            connection.execute(delete(item_queues).where(item_queues.c.queue_id == found.queue_id))
            at_ms, before = now_of(connection), _text(found)
            note_change(connection, Verb.DELETE_QUEUE, subject_of(found.name), before, None, by=by, at_ms=at_ms)
            return True

        while not self._store.write(end):
            deleted += self._store.write(page)
        return deleted


def subject_of(name: str) -> str:
    """Return what a queue is called in the audit."""
    return f"queue:{name}"


def queue_in(connection: Connection, queue: str | int, *, locks: bool = False, shares: bool = False) -> Queue:
    """Return a queue, in a transaction.

    Args:
        connection: Its connection.
        queue: The queue's name, or its id.
        locks: Whether nobody else may change it, or add to it, until the transaction ends.
        shares: Whether nobody may change it until then.

    Raises:
        QueueUnknown: If there is none.
    """
    column = item_queues.c.queue_id if isinstance(queue, int) else item_queues.c.name
    query: Select[Any] = select(item_queues).where(column == queue)
    if locks or shares:
        # The weakest lock that keeps a change or a deletion off; a row's reference to it takes it as well.
        query = query.with_for_update(read=shares, key_share=shares)
    row = connection.execute(query).one_or_none()
    if row is None:
        raise QueueUnknown(queue)
    return queue_of(row)


def _check_triggers(connection: Connection, queue: Queue) -> None:
    name = connection.execute(select(triggers.c.name).where(triggers.c.queue_id == queue.queue_id).limit(1)).scalar()
    if name is not None:
        raise QueueHasTriggers(queue.name, name)


def _has_items(connection: Connection, queue_id: int) -> bool:
    of = queue_items.c
    found = select(of.item_id).where(of.queue_id == queue_id, of.status != Status.DELETED).limit(1)
    return connection.execute(found).first() is not None


def _shown(queue: Queue) -> dict[str, object]:
    of: dict[str, object] = asdict(queue)
    schema = "some" if queue.payload_schema else "none"
    return {name: of[name] for name in _SHOWN} | {
        "payload_schema": schema,
        NOTIFY_URL: shown_address(queue.notify_url),
    }


def _text(queue: Queue) -> str:
    return "; ".join(f"{name} {value}" for name, value in _shown(queue).items())

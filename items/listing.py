"""``Listing``: items by page, and one with all that it has.

In the flow: people look; each list is along an index, the latest first, without payloads and results, so that a page is
bounded. What is due by the clock comes back before a queue is looked at (`returning`), so that what is shown is true.
"""

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from sqlalchemy import Connection, literal, select, tuple_

from ..ledger.schema.tables import queue_items
from .errors import ItemUnknown
from .model import Item, item_of
from .returning import give_back_all
from .states import Status
from .store import Store

_LISTED: Final = [column for column in queue_items.c if column.name not in ("payload", "result")]


class Place(NamedTuple):
    """An item's place among all."""

    created_ms: int
    item_id: str


@dataclass(frozen=True, slots=True)
class Sought:
    """Which items are wanted: those that fit all that is given."""

    queue_id: int | None = None
    statuses: tuple[Status, ...] = ()
    """None: all but those that are deleted."""
    reference: str | None = None
    robot_id: str | None = None
    """Who holds it, or held it when it ended."""
    created_from_ms: int | None = None
    """Added then or later."""
    created_to_ms: int | None = None
    """Added before."""


class Listing:
    """Reads items of one ledger. Safe to share between threads. Each method raises LedgerError if the database does not
    answer."""

    def __init__(self, store: Store) -> None:
        """Makes no connection."""
        self._store = store

    def page(self, sought: Sought, limit: int, *, before: Place | None = None) -> list[Item]:
        """Return items, the latest first.

        Args:
            sought: Which.
            limit: How many at most.
            before: Only those before this place.
        """
        if sought.queue_id is not None and before is None:
            give_back_all(self._store, sought.queue_id)
        return self._store.read(lambda connection: _page(connection, sought, limit, before))

    def one(self, item_id: str) -> Item:
        """Return an item.

        Raises:
            ItemUnknown: If there is none.
        """

        def found(connection: Connection) -> Any:
            query = select(queue_items).where(queue_items.c.item_id == item_id)
            row = connection.execute(query).one_or_none()
            if row is None:
                raise ItemUnknown(item_id)
            return row

        row = self._store.read(found)
        if row.status in (Status.POSTPONED, Status.IN_PROGRESS) and give_back_all(self._store, row.queue_id):
            row = self._store.read(found)
        return item_of(row)


def _page(connection: Connection, sought: Sought, limit: int, before: Place | None) -> list[Item]:
    of = queue_items.c
    query = select(*_LISTED)
    if sought.queue_id is not None:
        query = query.where(of.queue_id == sought.queue_id)
    is_wanted = of.status.in_(sought.statuses) if sought.statuses else of.status != Status.DELETED
    query = query.where(is_wanted)
    if sought.reference is not None:
        query = query.where(of.reference == sought.reference)
    if sought.robot_id is not None:
        query = query.where(of.locked_by_robot_id == sought.robot_id)
    if sought.created_from_ms is not None:
        query = query.where(of.created_ms >= sought.created_from_ms)
    if sought.created_to_ms is not None:
        query = query.where(of.created_ms < sought.created_to_ms)
    if before is not None:
        query = query.where(tuple_(of.created_ms, of.item_id) < tuple_(literal(before[0]), literal(before[1])))
    query = query.order_by(of.created_ms.desc(), of.item_id.desc()).limit(limit)
    return [item_of(row) for row in connection.execute(query)]

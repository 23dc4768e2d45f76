"""Queues with items for the tests, claims, and a lease that ends when a test says so."""

from typing import Any

from sqlalchemy import select, update

from bandmaster.items.claiming import Claim
from bandmaster.items.model import Item, Queue
from bandmaster.items.opened import Items
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import queue_items

SETTINGS: dict[str, Any] = {
    "description": None,
    "max_retries": 2,
    "enforce_unique_reference": False,
    "is_active": True,
    "lease_seconds": 300,
    "retry_seconds": 0,
}


def make(items: Items, name: str = "invoices", **fields: Any) -> Queue:
    """Make a queue whose failed items come back at once."""
    return items.queues.create(name, by="a test", **(SETTINGS | fields))


def add(items: Items, queue: Queue, **fields: Any) -> Item:
    """Add an item."""
    return items.adding.add(queue, by="a test", **fields)


def take(items: Items, robot_id: str = "robot", *, queue: str = "invoices", **fields: Any) -> list[Item]:
    """Claim items."""
    return items.claiming.claim(Claim(queue, robot_id, **fields))


def end_lease(database: Database, *item_ids: str) -> None:
    """Let leases be over, as if their time had passed."""
    with database.writing() as connection:
        of = queue_items.c
        over = update(queue_items).where(of.item_id.in_(item_ids), of.locked_until_ms.is_not(None))
        connection.execute(over.values(locked_until_ms=1))


def end_postponing(database: Database, *item_ids: str) -> None:
    """Let postponed items be due."""
    with database.writing() as connection:
        of = queue_items.c
        due = update(queue_items).where(of.item_id.in_(item_ids), of.available_ms.is_not(None))
        connection.execute(due.values(available_ms=1))


def rows(database: Database) -> list[dict[str, Any]]:
    """All items as they are kept."""
    with database.reading() as connection:
        return [dict(row) for row in connection.execute(select(queue_items)).mappings()]

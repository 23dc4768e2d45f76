"""Notifications for the tests: a ledger that has addresses, and what is written."""

from typing import Any

from receiver import NOTIFY
from sqlalchemy import select, update

from bandmaster.configs.notify import NotifySettings
from bandmaster.items.opened import Items, open_items
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import notifications

URL = "https://hooks.example/with?token=1"


def open_notifying(database: Database, notify: NotifySettings = NOTIFY) -> Items:
    return open_items(Asking(database, queue="exec_queue"), notify=notify)


def notes(database: Database) -> list[Any]:
    """What is written, in its order."""
    with database.reading() as connection:
        of = notifications.c
        return list(connection.execute(select(notifications).order_by(of.created_ms, of.delivery_id)))


def set_notes(database: Database, **columns: Any) -> None:
    with database.writing() as connection:
        connection.execute(update(notifications).values(columns))

"""Notifications for the tests: settings with a secret, and what is written."""

import base64
from typing import Any

from pydantic import SecretStr
from sqlalchemy import select, update

from bandmaster.configs.notify import NotifySettings
from bandmaster.items.opened import Items, open_items
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import notifications

SECRET = f"whsec_{base64.b64encode(b'k' * 32).decode()}"
NOTIFY = NotifySettings(secret=SecretStr(SECRET))
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

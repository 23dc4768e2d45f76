"""The items of an empty ledger, on each kind of database."""

from collections.abc import Iterator

import pytest
from databases import database_url, servers

from bandmaster.items.opened import Items, open_items
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.upgrading import upgrade

__all__ = ["database_url", "servers"]


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    upgrade(database)
    yield database
    database.close()


@pytest.fixture
def items(database: Database) -> Items:
    return open_items(Asking(database, queue="exec_queue"))

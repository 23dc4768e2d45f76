"""The items of an empty ledger, on each kind of database."""

from collections.abc import Iterator

import pytest
import redis
from databases import database_kind, ledger_url, made_ledger, servers
from trigger_work import Work

from bandmaster.items.opened import Items, open_items
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.scheduler.queue import ExecutionQueueService

__all__ = ["database_kind", "ledger_url", "made_ledger", "servers"]


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    database = Database(ledger_url)
    yield database
    database.close()


@pytest.fixture
def items(database: Database) -> Items:
    return open_items(Asking(database, queue="exec_queue"))


@pytest.fixture
def work(items: Items, database: Database, redis_client: redis.Redis) -> Work:
    """Triggers with what fires them and the consumer that settles their items."""
    return Work(items, database, ExecutionQueueService(redis_client))

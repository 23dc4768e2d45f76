"""A queue with its ledger: an empty Redis database, and an empty SQL database of each kind that is there."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
import redis
from ledger_reading import Reading
from postgres import PostgresServer, installations, postgres_server

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], PostgresServer]]:
    """Starts a PostgreSQL server at its first use."""
    with ExitStack() as ends:

        @cache
        def server(name: str) -> PostgresServer:
            return ends.enter_context(postgres_server(installations()[name]))

        yield server


@pytest.fixture(params=["sqlite", *installations()])
def database_url(request: pytest.FixtureRequest, tmp_path: Path, servers: Callable[[str], PostgresServer]) -> str:
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    return servers(request.param).create_database()


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = Database(database_url)
    upgrade(database)
    yield database
    database.close()


@pytest.fixture
def reading(database: Database) -> Reading:
    return Reading(database)


@pytest.fixture
def consumer(queue: ExecutionQueueService, database: Database) -> Consumer:
    consumer = Consumer(queue, Book(database, queue="exec_queue", holder="this test"))
    assert consumer.begin()
    return consumer

"""A queue with its ledger: an empty Redis database, and an SQL database of each kind that is there."""

import threading
from collections.abc import Iterator

import pytest
import redis
from databases import database_kind, database_url, ledger_url, made_ledger, servers
from ledger_process import attempt, command, empty_ledger_url, environment, run_command, start
from ledger_reading import Reading
from metrics_process import start_serving

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.waits.summing import Summing
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS

__all__ = [
    "attempt",
    "command",
    "database_kind",
    "database_url",
    "empty_ledger_url",
    "environment",
    "ledger_url",
    "made_ledger",
    "run_command",
    "servers",
    "start",
    "start_serving",
]


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


@pytest.fixture
def database(ledger_url: str) -> Iterator[Database]:
    database = Database(ledger_url)
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


@pytest.fixture
def consuming(queue: ExecutionQueueService, database: Database) -> Iterator[None]:
    """The ledger's process, as a thread."""
    book = Book(database, queue="exec_queue", holder="process")
    consumer, stop = Consumer(queue, book, summing=Summing(queue, book)), threading.Event()
    thread = threading.Thread(target=consumer.run, args=(stop,))
    thread.start()
    yield
    stop.set()
    thread.join(GENEROUS_SECONDS)
    assert not thread.is_alive()

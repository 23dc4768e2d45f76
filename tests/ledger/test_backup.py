"""A ledger is copied while it is written, lost, and restored: it goes on where the copy was, and knows the same."""

import sqlite3
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ledger_reading import Reading, catch_up
from postgres import PostgresServer, installations
from random_operators import Operators
from sqlalchemy import make_url, update

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import consumer as consumer_row
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS

Copy = Callable[[str], Callable[[], str]]
"""Copies the database of a URL as docs/ledger.md says; what it returns restores the copy and gives its URL."""
COMPARED = {
    "executions": "execution_id",
    "transitions": "journal_id, entry_ms, entry_number",
    "changes": "journal_id, entry_ms, entry_number",
    "holds": "gate, execution_id, attempt",
}


def of_sqlite(folder: Path) -> Copy:
    def copy(url: str) -> Callable[[], str]:
        file = folder / "copy.sqlite3"
        connection = sqlite3.connect(make_url(url).database or "")
        connection.execute(f"VACUUM INTO '{file}'")
        connection.close()
        return lambda: f"sqlite:///{file}"

    return copy


def of_postgresql(server: PostgresServer, programs: Path, folder: Path) -> Copy:
    def run(program: str, url: str, *arguments: str) -> None:
        subprocess.run([programs / program, f"--dbname={url}", *arguments], check=True, capture_output=True, timeout=60)

    def copy(url: str) -> Callable[[], str]:
        run("pg_dump", url, "--format=custom", f"--file={folder / 'copy'}")

        def restore() -> str:
            empty = server.create_database()
            run("pg_restore", empty, str(folder / "copy"))
            return empty

        return restore

    return copy


@pytest.fixture
def copy(database_kind: str, servers: Callable[[str], PostgresServer], tmp_path: Path) -> Copy:
    if database_kind == "sqlite":
        return of_sqlite(tmp_path)
    return of_postgresql(servers(database_kind), installations()[database_kind], tmp_path)


@pytest.fixture
def opened() -> Iterator[Callable[[str], Database]]:
    databases: list[Database] = []

    def open_database(url: str) -> Database:
        databases.append(Database(url))
        return databases[-1]

    yield open_database
    for each in databases:
        each.close()


def test_a_restored_copy_goes_on_where_it_was_made(
    queue: ExecutionQueueService, ledger_url: str, copy: Copy, opened: Callable[[str], Database]
) -> None:
    operators = Operators(queue, 11)
    first = opened(ledger_url)
    consumer = Consumer(queue, Book(first, queue="exec_queue", holder="first"))
    assert consumer.begin()
    acted, is_copied = threading.Event(), threading.Event()

    def work() -> None:
        while not is_copied.is_set():
            for _ in range(20):
                operators.act()
            catch_up(consumer)
            acted.set()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        assert acted.wait(GENEROUS_SECONDS)
        restore = copy(ledger_url)
    finally:
        is_copied.set()
        worker.join()
    for _ in range(100):
        operators.act()
    catch_up(consumer)

    restored = opened(restore())
    upgrade(restored)
    with restored.writing() as connection:
        # The consumer of the copy is long gone.
        connection.execute(update(consumer_row).values(renewed_ms=0))
    again = Consumer(queue, Book(restored, queue="exec_queue", holder="second"))
    assert again.begin()
    assert catch_up(again) >= 100, "what came after the copy is read from the journal"
    for table, order in COMPARED.items():
        query = f"SELECT * FROM {table} ORDER BY {order}"
        assert Reading(restored).rows(query) == Reading(first).rows(query), table
    assert Reading(restored).rows("SELECT * FROM gaps") == []

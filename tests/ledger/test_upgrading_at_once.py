"""Two upgrades of one empty database at once: one waits for the other, and finds nothing left to do."""

import sqlite3
import subprocess
import sys
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from subprocess import PIPE, STDOUT
from threading import Event
from typing import Any

import psycopg
import pytest
from databases import POSTGRESQLS
from ledger_reading import Reading
from sqlalchemy import Engine, event

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.revisions import newest
from bandmaster.ledger.schema.upgrading import upgrade
from waiting import GENEROUS_SECONDS, wait_until

_UPGRADE = """
import sys
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
print(upgrade(Database(sys.argv[1])))
"""


@pytest.mark.parametrize("database_kind", POSTGRESQLS, indirect=True)
def test_on_postgresql_one_waits_for_the_other(database_url: str) -> None:
    """One is held up in the midst of its first step, by a table of the same name that is not committed."""
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    with closing(Database(database_url)) as database, ExitStack() as ends:
        reading = Reading(database)
        with psycopg.connect(database_url) as in_the_way:
            in_the_way.execute("CREATE TABLE action (id integer)")
            asked = [sys.executable, "-c", _UPGRADE, database_url]
            both = [subprocess.Popen(asked, stdout=PIPE, stderr=STDOUT, text=True) for _ in range(2)]
            for process in both:
                ends.callback(process.kill)
            wait_until(lambda: reading.one(waiting) == 2, what="both upgrades")
            in_the_way.rollback()
        for process in both:
            said, _ = process.communicate(timeout=60)
            assert (process.returncode, said) == (0, f"{newest()}\n")
        assert_upgraded_once(reading)


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_on_sqlite_the_second_waits_for_the_first(database_url: str) -> None:
    """The first is held up when it has read which tables there are; nobody else may write from then on."""
    has_begun, goes_on, second_begins = Event(), Event(), Event()

    def before(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("BEGIN") and has_begun.is_set():
            second_begins.set()
        elif statement.lstrip().startswith("CREATE TABLE") and not has_begun.is_set():
            has_begun.set()
            assert goes_on.wait(GENEROUS_SECONDS)

    def upgraded() -> str:
        with closing(Database(database_url)) as database:
            return upgrade(database)

    with closing(Database(database_url)) as database, ThreadPoolExecutor(2) as both, told_of_statements(before):
        first = both.submit(upgraded)
        try:
            assert has_begun.wait(GENEROUS_SECONDS)
            file = database_url.removeprefix("sqlite:///")
            with closing(sqlite3.connect(file, timeout=0)) as other, pytest.raises(sqlite3.Error, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            second = both.submit(upgraded)
            assert second_begins.wait(GENEROUS_SECONDS)
        finally:
            goes_on.set()
        assert (first.result(GENEROUS_SECONDS), second.result(GENEROUS_SECONDS)) == (newest(), newest())
        assert_upgraded_once(Reading(database))


@contextmanager
def told_of_statements(before: Any) -> Generator[None]:
    event.listen(Engine, "before_cursor_execute", before)
    try:
        yield
    finally:
        event.remove(Engine, "before_cursor_execute", before)


def assert_upgraded_once(reading: Reading) -> None:
    assert reading.rows("SELECT version_num FROM alembic_version") == [{"version_num": newest()}]
    assert reading.one("SELECT count(*) FROM executions") == 0

"""A PostgreSQL that was started anew: what was connected to it before is noticed once, and not with each connection."""

from collections.abc import Iterator
from contextlib import ExitStack, closing

import pytest
from postgres import PostgresServer, installations, postgres_server
from sqlalchemy import Connection, text

from bandmaster.ledger.database import CONNECTIONS, Database
from bandmaster.ledger.errors import LedgerUnavailable

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of these tests alone, which start it anew."""
    with postgres_server(next(iter(installations().values()))) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer) -> Iterator[Database]:
    with closing(Database(server.create_database())) as database:
        yield database


def pid_of(connection: Connection) -> int:
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()


def open_all(database: Database) -> set[int]:
    """Open as many connections as a process keeps, and give them back."""
    with ExitStack() as opened:
        return {pid_of(opened.enter_context(database.reading())) for _ in range(CONNECTIONS)}


def test_connections_that_were_idle_when_their_server_was_started_anew_fail_no_use(
    server: PostgresServer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = open_all(database)
    assert len(before) == CONNECTIONS
    server.stop()
    server.start()
    monkeypatch.setattr("bandmaster.ledger.database._FRESH_SECONDS", 0)
    with database.reading() as connection:
        assert pid_of(connection) not in before
    # The first one told of all: the others are not tried.
    monkeypatch.setattr("bandmaster.ledger.database._FRESH_SECONDS", 3_600)
    assert len(open_all(database) - before) == CONNECTIONS


def test_connections_that_were_just_used_fail_one_use_and_not_one_each(
    server: PostgresServer, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("bandmaster.ledger.database._FRESH_SECONDS", 3_600)
    before = open_all(database)
    server.stop()
    server.start()
    with pytest.raises(LedgerUnavailable), database.reading() as connection:
        pid_of(connection)
    assert len(open_all(database) - before) == CONNECTIONS


def test_connections_are_kept_for_the_next_use(database: Database) -> None:
    assert open_all(database) == open_all(database)

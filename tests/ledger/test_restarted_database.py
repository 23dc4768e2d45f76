"""A PostgreSQL that was started anew: what was connected to it before is noticed once, and not with each connection."""

from contextlib import ExitStack, closing

import pytest
from postgres import installations, postgres_server
from sqlalchemy import Connection, text

from bandmaster.ledger.database import CONNECTIONS, Database
from bandmaster.ledger.errors import LedgerUnavailable


def pid_of(connection: Connection) -> int:
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()


def open_all(database: Database) -> set[int]:
    """Open as many connections as a process keeps, and give them back."""
    with ExitStack() as opened:
        return {pid_of(opened.enter_context(database.reading())) for _ in range(CONNECTIONS)}


def test_connections_that_were_idle_when_their_server_was_started_anew_fail_no_use(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        postgres_server(next(iter(installations().values()))) as server,
        closing(Database(server.create_database())) as database,
    ):
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


def test_connections_that_were_just_used_fail_one_use_and_not_one_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandmaster.ledger.database._FRESH_SECONDS", 3_600)
    with (
        postgres_server(next(iter(installations().values()))) as server,
        closing(Database(server.create_database())) as database,
    ):
        before = open_all(database)
        server.stop()
        server.start()
        with pytest.raises(LedgerUnavailable), database.reading() as connection:
            pid_of(connection)
        assert len(open_all(database) - before) == CONNECTIONS


def test_connections_are_kept_for_the_next_use() -> None:
    with (
        postgres_server(next(iter(installations().values()))) as server,
        closing(Database(server.create_database())) as database,
    ):
        assert open_all(database) == open_all(database)

"""A PostgreSQL that was started anew: what was connected to it before is noticed once, and not with each connection."""

from contextlib import ExitStack, closing

from postgres import installations, postgres_server
from sqlalchemy import Connection, text

from bandmaster.ledger.database import CONNECTIONS, Database
from bandmaster.ledger.errors import LedgerUnavailable


def pid_of(connection: Connection) -> int:
    return connection.execute(text("SELECT pg_backend_pid()")).scalar_one()


def test_a_server_that_was_started_anew_fails_one_use_at_most() -> None:
    with (
        postgres_server(next(iter(installations().values()))) as server,
        closing(Database(server.create_database())) as database,
    ):
        with ExitStack() as opened:
            before = {pid_of(opened.enter_context(database.reading())) for _ in range(CONNECTIONS)}
        assert len(before) == CONNECTIONS
        server.stop()
        server.start()
        failed, found = 0, set[int]()
        for _ in range(CONNECTIONS):
            try:
                with database.reading() as connection:
                    found.add(pid_of(connection))
            except LedgerUnavailable:
                failed += 1
        assert failed <= 1
        assert found


def test_connections_are_kept_for_the_next_use() -> None:
    with (
        postgres_server(next(iter(installations().values()))) as server,
        closing(Database(server.create_database())) as database,
    ):
        pids = list[set[int]]()
        for _ in range(2):
            with ExitStack() as opened:
                pids.append({pid_of(opened.enter_context(database.reading())) for _ in range(CONNECTIONS)})
        assert pids[0] == pids[1]

"""A PostgreSQL that hangs, though its host answers: a wait for it ends, and one for a long statement does not."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing

import pytest
from postgres import PostgresServer, installations, postgres_server
from sqlalchemy import Connection, text

from bandmaster.ledger import answering
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    """A server of these tests alone, which let it hang."""
    with postgres_server(next(iter(installations().values()))) as server:
        yield server


@pytest.fixture
def database(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    monkeypatch.setattr(answering, "LOOK_SECONDS", 0.3)
    monkeypatch.setattr(answering, "ANSWER_SECONDS", 2)
    with closing(Database(server.create_database())) as database:
        yield database


def ask(server: PostgresServer, opened: AbstractContextManager[Connection], statement: str) -> None:
    with opened as connection:
        server.pause()
        connection.execute(text(statement))


def test_a_wait_for_a_server_that_hangs_ends(database: Database, server: PostgresServer) -> None:
    with database.writing() as connection:
        connection.execute(text("CREATE TABLE one (number INTEGER)"))
    with pytest.raises(LedgerUnavailable, match="it hangs"):
        ask(server, database.reading(), "SELECT * FROM one")
    server.go_on()
    with pytest.raises(LedgerUnavailable, match="it hangs"):
        ask(server, database.writing(), "INSERT INTO one VALUES (1)")
    # Neither a connection that was open before nor a new one answers.
    with pytest.raises(LedgerUnavailable, match="timeout"), database.reading():
        pass
    server.go_on()
    with database.reading() as connection:
        assert connection.execute(text("SELECT count(*) FROM one")).scalar_one() == 0


def test_a_statement_that_takes_long_is_waited_for(database: Database) -> None:
    with database.reading() as connection:
        assert connection.execute(text("SELECT 1 FROM pg_sleep(1.5)")).scalar_one() == 1

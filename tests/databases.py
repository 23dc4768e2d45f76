"""Fixtures: an empty SQL database of each kind that is there, for the tests of ledger and API."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import pytest
from postgres import PostgresServer, installations, postgres_server


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
    """The URL of an empty database, for SQLAlchemy."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'ledger.sqlite3'}"
    return servers(request.param).create_database()

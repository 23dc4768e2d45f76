"""Fixtures: an SQL database of each kind that is there, empty or with the ledger's tables, for ledger and API.

The tables are made once a test process and kind, by the steps of the schema; each test gets a copy of its own.
"""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
from postgres import PostgresServer, installations, postgres_server

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade

MadeFor = Callable[[str, Path], str]
"""Makes a ledger of a kind, with a folder for its file; its URL."""

_OF_THE_WHEEL, *_OF_DEBIAN = installations()
POSTGRESQLS: Final = (
    pytest.param(_OF_THE_WHEEL, marks=pytest.mark.slow),
    *(pytest.param(name, marks=pytest.mark.nightly) for name in _OF_DEBIAN),
)
"""The kinds that are PostgreSQL: the newest, and other versions."""
KINDS: Final = ("sqlite", *POSTGRESQLS)
SQLITE_IN_CHECK: Final = ("sqlite", *(pytest.param(name, marks=pytest.mark.nightly) for name in installations()))
"""The same for tests of processes and commands, to which it is all the same which database theirs is."""
POSTGRESQL_IN_CHECK: Final = (*POSTGRESQLS, pytest.param("sqlite", marks=pytest.mark.nightly))
"""The same for tests that end processes in the middle of a transaction, and take long for it."""
ALL_IN_CHECK: Final = ("sqlite", *(pytest.param(name, marks=pytest.mark.slow) for name in installations()))
"""The same for tests of what the schema itself needs of a version: Debian has the oldest that is supported."""


@pytest.fixture(scope="session")
def servers() -> Iterator[Callable[[str], PostgresServer]]:
    """Starts a PostgreSQL server at its first use."""
    with ExitStack() as ends:

        @cache
        def server(name: str) -> PostgresServer:
            return ends.enter_context(postgres_server(installations()[name]))

        yield server


@pytest.fixture(scope="session")
def made_ledger(servers: Callable[[str], PostgresServer], tmp_path_factory: pytest.TempPathFactory) -> MadeFor:
    """Makes ledgers that are like one that the steps of the schema made."""

    @cache
    def first(kind: str) -> str:
        if kind == "sqlite":
            url = f"sqlite:///{tmp_path_factory.mktemp('ledger') / 'ledger.sqlite3'}"
        else:
            url = servers(kind).create_database()
        with closing(Database(url)) as database:
            upgrade(database)
        return url

    def made(kind: str, folder: Path) -> str:
        if kind != "sqlite":
            return servers(kind).create_database(like=first(kind))
        copy = folder / "ledger.sqlite3"
        shutil.copy(first(kind).removeprefix("sqlite:///"), copy)
        return f"sqlite:///{copy}"

    return made


@pytest.fixture(params=KINDS)
def database_kind(request: Any) -> str:
    """The kind of the test's database."""
    return request.param


@pytest.fixture
def database_url(database_kind: str, tmp_path: Path, servers: Callable[[str], PostgresServer]) -> str:
    """The URL of an empty database, for SQLAlchemy."""
    if database_kind == "sqlite":
        return f"sqlite:///{tmp_path / 'empty.sqlite3'}"
    return servers(database_kind).create_database()


@pytest.fixture
def ledger_url(database_kind: str, tmp_path: Path, made_ledger: MadeFor) -> str:
    """The URL of a database with the ledger's tables, and no rows in them."""
    return made_ledger(database_kind, tmp_path)

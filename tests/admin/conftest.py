"""An API on an empty queue and an empty ledger; on SQLite, unless a test asks for every database."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from calling import Api, Clock, served
from databases import MadeFor, database_kind, ledger_url, made_ledger, servers

__all__ = ["database_kind", "ledger_url", "made_ledger", "servers"]


@pytest.fixture
def sqlite_url(tmp_path: Path, made_ledger: MadeFor) -> str:
    """The URL of a ledger whose tables are there."""
    return made_ledger("sqlite", tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def api(redis_client: redis.Redis, sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    yield from served(redis_client, sqlite_url, tmp_path)


@pytest.fixture
def every_api(redis_client: redis.Redis, ledger_url: str, tmp_path: Path) -> Iterator[Api]:
    """The same, once on each kind of database."""
    yield from served(redis_client, ledger_url, tmp_path)


@pytest.fixture
def unix_seconds() -> Callable[[], int]:
    """The time as providers have it."""
    return lambda: int(time.time())

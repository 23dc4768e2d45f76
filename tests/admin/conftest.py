"""An API on an empty queue and an empty ledger, with cold caches; on SQLite, unless a test asks for every database."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from calling import Api, Clock, SharedServer, served, shared_server
from databases import MadeFor, database_kind, ledger_url, made_ledger, servers

from bandmaster.admin.quotas import counter
from waiting import GENEROUS_SECONDS

__all__ = ["database_kind", "ledger_url", "made_ledger", "servers"]


@pytest.fixture(autouse=True)
def nobody_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No client reads a list of authorities, which takes httpx 60 ms for each client, with TLS or without.

    Tests with TLS say themselves whom they trust.
    """
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)
    monkeypatch.setenv("SSL_CERT_DIR", str(Path(__file__).with_name("no-authorities")))


@pytest.fixture
def exact_quotas(monkeypatch: pytest.MonkeyPatch) -> None:
    """Redis counts them however long it takes: half a second later a process would count alone."""
    monkeypatch.setattr(counter, "ANSWER_SECONDS", GENEROUS_SECONDS)


@pytest.fixture
def sqlite_url(tmp_path: Path, made_ledger: MadeFor) -> str:
    """The URL of a ledger whose tables are there."""
    return made_ledger("sqlite", tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(scope="session")
def shared() -> Iterator[SharedServer]:
    """What serves the API to one test of a process after another."""
    with shared_server() as server:
        yield server


@pytest.fixture
def api(redis_client: redis.Redis, sqlite_url: str, tmp_path: Path, shared: SharedServer) -> Iterator[Api]:
    yield from served(redis_client, sqlite_url, tmp_path, shared.working_with)


@pytest.fixture
def every_api(redis_client: redis.Redis, ledger_url: str, tmp_path: Path, shared: SharedServer) -> Iterator[Api]:
    """The same, once on each kind of database."""
    yield from served(redis_client, ledger_url, tmp_path, shared.working_with)


@pytest.fixture
def unix_seconds() -> Callable[[], int]:
    """The time as providers have it."""
    return lambda: int(time.time())

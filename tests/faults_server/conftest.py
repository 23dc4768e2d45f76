"""Real workers of an ordinary application, on a server that a test may harm."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from acceptance.workers import Workers

from faults_server.own_server import OwnServer


@pytest.fixture
def server() -> Iterator[OwnServer]:
    """Runs, on a folder of its own."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder))
        own.start()
        yield own
        own.end()


@pytest.fixture
def client(server: OwnServer) -> Iterator[redis.Redis]:
    """Straight to the server."""
    with redis.Redis.from_url(server.url) as straight:
        yield straight


@pytest.fixture
def workers(server: OwnServer, tmp_path: Path) -> Iterator[Workers]:
    """Of `ten_lines.py`; all are ended."""
    made = Workers(server.url, tmp_path)
    yield made
    made.end()

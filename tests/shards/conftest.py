"""Two real servers, and an application whose broker has both."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults_server.own_server import OwnServer
from sharded_application import Application


@pytest.fixture
def servers() -> Iterator[dict[str, OwnServer]]:
    """They run, each on a folder of its own, by the names of their shards."""
    with tempfile.TemporaryDirectory(prefix="bm-") as first, tempfile.TemporaryDirectory(prefix="bm-") as second:
        own = {"default": OwnServer(Path(first)), "low": OwnServer(Path(second))}
        for each in own.values():
            each.start()
        yield own
        for each in own.values():
            each.end()


@pytest.fixture
def application(servers: dict[str, OwnServer]) -> Iterator[Application]:
    """Band LOW is on the second server; no worker runs yet."""
    made = Application({name: each.url for name, each in servers.items()})
    yield made
    made.end()

"""Two real servers, and an application whose broker has both."""

from collections.abc import Iterator

import pytest
from faults_server.own_server import OwnServer
from sharded_application import Application
from two_servers import two_servers


@pytest.fixture
def servers() -> Iterator[dict[str, OwnServer]]:
    """Of this test alone."""
    with two_servers() as own:
        yield own


@pytest.fixture
def application(servers: dict[str, OwnServer]) -> Iterator[Application]:
    """Band LOW is on the second server; no worker runs yet."""
    made = Application({name: each.url for name, each in servers.items()})
    yield made
    made.end()

"""Two real servers, by the names of their shards, and a queue straight on one of them."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from faults_server.own_server import OwnServer

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of


@contextmanager
def two_servers() -> Generator[dict[str, OwnServer]]:
    """They run, each on a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="bm-") as first, tempfile.TemporaryDirectory(prefix="bm-") as second:
        own = {"default": OwnServer(Path(first)), "low": OwnServer(Path(second))}
        for each in own.values():
            each.start()
        yield own
        for each in own.values():
            each.end()


@contextmanager
def queue_of(url: str) -> Generator[ExecutionQueueService]:
    """On one server, whatever the shards are."""
    with client_of(url) as client:
        queue = ExecutionQueueService(client)
        yield queue
        queue.close()

"""Examples on an empty server."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from bandmaster import ExecutionQueueService
from examples.running import Running


@pytest.fixture
def running(redis_url: str, redis_client: redis.Redis) -> Iterator[Running]:
    """Runs them; their workers are ended after the test."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        running = Running(redis_url, Path(folder))
        yield running
        running.end()


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """The queue, as an operator has it."""
    return ExecutionQueueService(redis_client)

"""An installation of `application.py` on the test's server; no worker runs yet."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from acceptance.workers import Workers
from ended_leases import LONG_LEASE_MS

from bandmaster.scheduler.queue import ExecutionQueueService
from stories.work import Work

APPLICATION = "stories.application"


@pytest.fixture
def work(redis_client: redis.Redis) -> Work:
    """Its queue."""
    return Work(ExecutionQueueService(redis_client), redis_client)


@pytest.fixture
def workers(redis_url: str, tmp_path: Path) -> Iterator[Workers]:
    """Its workers; all are ended."""
    made = Workers(redis_url, tmp_path, module=APPLICATION, lease_ms=LONG_LEASE_MS)
    yield made
    made.end()

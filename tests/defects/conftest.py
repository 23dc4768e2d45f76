"""A simple queue and ours, side by side on one real server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from bandmaster.k8s.local.launching import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.simple_queue import SimpleQueue
from waiting import wait_until


@pytest.fixture
def simple(redis_client: redis.Redis) -> SimpleQueue:
    """A queue as it is usually written."""
    return SimpleQueue(redis_client)


@pytest.fixture
def ours(redis_client: redis.Redis) -> ExecutionQueueService:
    """The engine."""
    return ExecutionQueueService(redis_client)


@pytest.fixture
def local_pods(tmp_path: Path) -> Iterator[LocalPods]:
    """Pods that are child processes, all gone at the end."""
    pods = LocalPods(tmp_path, LocalLimits(grace_seconds=0.2))
    yield pods
    for status in pods.list():
        pods.delete(status.name)
    wait_until(lambda: not pods.list(), what="the deletion of all pods")

"""An installation for a test, of which nothing is left afterwards: what is, is killed, and fails the test."""

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis
from leftovers import processes_under
from proxy import Proxy, proxy_before

from bandmaster.k8s.local.launching import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.library import assemble
from faults_process.installation import Installation
from faults_process.members import Members
from waiting import wait_until


@contextmanager
def installed(client: redis.Redis, url: str, folder: Path) -> Generator[Installation]:
    """One server and one folder; no member runs yet."""
    client.function_load(assemble().text, replace=True)  # else the reply that a test loses is that it is not known yet
    members = Members(url, folder)
    pods = LocalPods(folder, LocalLimits(grace_seconds=0.2))
    yield Installation(client, ExecutionQueueService(client), pods, members, folder)
    print(members.end_all())
    left = [pod.name for pod in pods.list() if not pod.phase.ended]
    for pod in pods.list():
        pods.delete(pod.name)
    wait_until(lambda: not processes_under(folder), what="the end of all pods' processes")
    assert not left, "pods were left running"


@pytest.fixture
def installation(redis_client: redis.Redis, redis_url: str, tmp_path: Path) -> Iterator[Installation]:
    """On the test's server."""
    with installed(redis_client, redis_url, tmp_path) as made:
        yield made


@pytest.fixture
def proxy(redis_url: str) -> Iterator[Proxy]:
    """Between one worker and the server."""
    with proxy_before(redis_url) as between:
        yield between

"""The actors of this process on the test's own server and on local pods of its own; no worker runs.

Actors are called as a worker would call them; what they send stays in Redis, where a test can look at it.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from leftovers import processes_under
from lifecycle import Lifecycle

from bandmaster.actors import runtime, watch
from bandmaster.k8s.local.launching import LocalLimits
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, below which the settings' defaults put everything."""
    monkeypatch.chdir(tmp_path)
    return tmp_path / "var"


@pytest.fixture
def pods(folder: Path) -> Iterator[LocalPods]:
    """Pods that are child processes, all gone at the end."""
    pods = LocalPods(folder, LocalLimits(grace_seconds=0.2))
    yield pods
    for status in pods.list():
        pods.delete(status.name)
    wait_until(lambda: not pods.list(), what="the deletion of all pods")
    wait_until(lambda: not processes_under(folder), what="the end of all processes")


@pytest.fixture
def lifecycle(
    redis_url: str, redis_client: redis.Redis, pods: LocalPods, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Lifecycle]:
    """The runtime of the actors, connected to the test's server and pods."""
    client = client_of(redis_url)
    monkeypatch.setattr(runtime.broker.client, "connection_pool", client.connection_pool)
    for made in (runtime.pods_of, watch.watch_of):
        made.cache_clear()
    yield Lifecycle(redis_client, runtime.queue, pods, folder)
    for made in (runtime.pods_of, watch.watch_of):
        made.cache_clear()
    client.close()

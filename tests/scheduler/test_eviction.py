"""A server that may evict keys is told of, by those who may ask: a worker that starts, and `bandmaster status`."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from acceptance.workers import Workers
from faults_server.own_server import OwnServer

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.server.eviction import eviction_policy
from waiting import wait_until

pytestmark = pytest.mark.slow

EVENT = "eviction_possible"
POLICY = "allkeys-lru"


@pytest.fixture
def server() -> Iterator[OwnServer]:
    """Runs, with the policy that a server has by itself."""
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
    """Of an application that has nothing but the broker; all are ended."""
    made = Workers(server.url, tmp_path)
    yield made
    made.end()


def status(server: OwnServer, folder: Path, *arguments: str) -> str:
    """What the command says."""
    done = subprocess.run(
        [sys.executable, "-m", "bandmaster", "status", *arguments],
        cwd=folder,
        env={**os.environ, "BANDMASTER_REDIS__URL": server.url},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("policy", [POLICY, "volatile-ttl"])
def test_a_policy_that_evicts_is_named(policy: str, client: redis.Redis) -> None:
    assert eviction_policy(client) is None
    client.config_set("maxmemory-policy", policy)
    assert eviction_policy(client) == policy


def test_who_may_not_ask_is_told_nothing(server: OwnServer, client: redis.Redis) -> None:
    client.config_set("maxmemory-policy", POLICY)
    client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret", "~*", "+@all", "-info")
    with redis.Redis.from_url(server.url, username="app", password="secret") as restricted:
        assert eviction_policy(restricted) is None


def test_a_worker_that_starts_warns(client: redis.Redis, workers: Workers) -> None:
    def warnings(number: int) -> list[str]:
        return [line for line in workers.log(number).read_text(encoding="utf-8").splitlines() if EVENT in line]

    workers.start()
    workers.probe(ExecutionQueueService(client))
    client.config_set("maxmemory-policy", POLICY)
    workers.start()
    (said,) = wait_until(lambda: warnings(1), what="the warning")
    assert POLICY in said
    assert "noeviction" in said
    assert warnings(0) == []


def test_the_status_warns(server: OwnServer, client: redis.Redis, tmp_path: Path) -> None:
    assert json.loads(status(server, tmp_path, "--json"))["server"]["eviction_policy"] is None
    assert "evict" not in status(server, tmp_path)
    client.config_set("maxmemory-policy", POLICY)
    assert json.loads(status(server, tmp_path, "--json"))["server"]["eviction_policy"] == POLICY
    assert f"the server may evict keys ({POLICY})" in status(server, tmp_path)

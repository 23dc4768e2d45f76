"""The API while Redis is stopped: what needs it is told so, and what does not need it goes on."""

import signal
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic

import httpx
import pytest
import redis
from calling import V1, Api, served
from faults_server.own_server import OwnServer

WAITING = 100


@pytest.fixture
def server() -> Iterator[OwnServer]:
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder))
        own.start()
        yield own
        own.end()


@pytest.fixture
def api_of_its_own(server: OwnServer, sqlite_url: str, tmp_path: Path) -> Iterator[Api]:
    with redis.Redis.from_url(server.url) as client:
        yield from served(client, sqlite_url, tmp_path)


def test_those_who_wait_for_a_redis_that_hangs_hold_up_nobody_else(api_of_its_own: Api, server: OwnServer) -> None:
    api = api_of_its_own
    token = api.token("ann", "admin")
    limits = httpx.Limits(max_connections=WAITING + 10)
    with (
        httpx.Client(
            base_url=api.url, headers={"Authorization": f"Bearer {token}"}, timeout=60, limits=limits
        ) as client,
        ThreadPoolExecutor(WAITING + 1) as executor,
    ):
        assert client.get(f"{V1}/executions/queue").status_code == 200
        server.signal(signal.SIGSTOP)
        waiting = [executor.submit(client.get, f"{V1}/executions/queue") for _ in range(WAITING)]
        readiness = executor.submit(client.get, "/readyz")
        asked = 0
        while not all(each.done() for each in waiting):
            began = monotonic()
            for path in ("/healthz", f"{V1}/whoami", f"{V1}/executions/", f"{V1}/audit"):
                assert client.get(path).status_code == 200, path
            # Far less than the deadline of those that wait, which is five seconds.
            assert monotonic() - began < 3
            asked += 1
        assert asked
        assert {(each.result().status_code, each.result().json()["code"]) for each in waiting} == {
            (503, "redis_unavailable")
        }
        assert (readiness.result().status_code, readiness.result().json()["status"]) == (503, "unready")
        server.signal(signal.SIGCONT)
        assert client.get(f"{V1}/executions/queue").status_code == 200
        assert client.get("/readyz").status_code == 200

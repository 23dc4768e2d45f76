"""The API while Redis is stopped: what needs it is told so, and what does not need it goes on."""

import signal
import tempfile
from collections.abc import Generator, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import replace
from importlib import import_module
from inspect import iscoroutinefunction
from pathlib import Path
from pkgutil import iter_modules
from threading import Event
from typing import Any

import httpx
import pytest
import redis
from calling import V1, Api, api_on, api_with, served
from fastapi import APIRouter
from fastapi.routing import APIRoute
from faults_server.own_server import OwnServer

from bandmaster.admin import api as folder
from bandmaster.admin.quotas.counter import LOOK, Counter
from bandmaster.admin.shards.shards import Shards
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

WAITING = 100
PROBES = 60
NEED_NO_REDIS = {"create_token", "list_changes", "list_executions", "list_tokens", "list_waits", "revoke_token"} | {
    *(
        "add_item",
        "add_item_by_name",
        "settle_item",
        "show_held_item",
        "edit_item",
        "delete_item",
        "list_items",
        "show_item",
    ),
    *("create_item_queue", "change_item_queue", "delete_item_queue", "list_item_queues", "show_item_queue"),
    "show_item_stats",
    *("list_notifications", "show_notification", "send_queue_test", "send_trigger_test"),
    *("create_trigger", "change_trigger", "delete_trigger", "list_triggers", "show_trigger"),
}


def test_a_route_that_keeps_a_thread_takes_a_turn_or_needs_no_redis() -> None:
    modules = [import_module(f"{folder.__name__}.{found.name}") for found in iter_modules(folder.__path__)]
    routers = [each for module in modules for each in vars(module).values() if isinstance(each, APIRouter)]
    routes = [each for router in routers for each in router.routes if isinstance(each, APIRoute)]
    assert {each.name for each in routes if not iscoroutinefunction(each.endpoint)} == NEED_NO_REDIS


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


@contextmanager
def asking(api: Api, **other: Any) -> Generator[tuple[httpx.Client, Executor]]:
    """Serve one with other services beside an API; an admin's client of it, and threads of many who ask at once."""
    services = replace(api.services, **other)
    limits = httpx.Limits(max_connections=WAITING + PROBES + 10)
    headers = {"Authorization": f"Bearer {api.token('ann', 'admin')}"}
    with (
        api_on(replace(services, closing=Event())) as url,
        httpx.Client(base_url=url, headers=headers, timeout=10 * GENEROUS_SECONDS, limits=limits) as client,
        ThreadPoolExecutor(WAITING + PROBES) as executor,
    ):
        yield client, executor


@pytest.mark.slow
def test_those_who_wait_for_a_redis_that_hangs_hold_up_nobody_else(api_of_its_own: Api, server: OwnServer) -> None:
    with (
        redis.Redis.from_url(server.url) as connection,
        # For longer than anything takes here: whoever is answered meanwhile did not wait for those who ask Redis.
        closing(ExecutionQueueService(connection, deadline_seconds=10 * GENEROUS_SECONDS)) as queue,
        asking(api_of_its_own, queue=queue, shards=Shards.alone(queue)) as (client, executor),
    ):
        assert client.get(f"{V1}/executions/queue").status_code == 200
        server.signal(signal.SIGSTOP)
        waiting = [executor.submit(client.get, f"{V1}/executions/queue") for _ in range(WAITING)]
        assert client.get("/readyz").status_code == 503
        # They have no quota, and more ask at once than there are threads.
        probes = [executor.submit(client.get, "/readyz") for _ in range(PROBES)]
        for path in ("/healthz", f"{V1}/whoami", f"{V1}/executions/", f"{V1}/audit"):
            assert client.get(path).status_code == 200, path
        assert client.get("/readyz").status_code == 503
        # A scaler that were told 0 would remove the workers.
        assert client.get(f"{V1}/lanes/executions/demand").status_code == 503
        assert {(each.result().status_code, each.result().json()["status"]) for each in probes} == {(503, "unready")}
        assert not all(each.done() for each in waiting), "all were answered while Redis hung"
        server.signal(signal.SIGCONT)
        assert {each.result().status_code for each in waiting} <= {200, 503}
        assert client.get(f"{V1}/executions/queue").status_code == 200
        assert client.get("/readyz").status_code == 200


@pytest.mark.slow
def test_who_has_a_turn_asks_a_redis_that_hangs_in_vain_and_the_others_get_none(
    api_of_its_own: Api, server: OwnServer
) -> None:
    with asking(api_of_its_own) as (client, executor):
        assert client.get(f"{V1}/executions/queue").status_code == 200
        server.signal(signal.SIGSTOP)
        waiting = [executor.submit(client.get, f"{V1}/executions/queue") for _ in range(WAITING)]
        told = {(each.result().status_code, each.result().json()["code"]) for each in waiting}
        assert told == {(503, "redis_unavailable"), (503, "busy")}
        server.signal(signal.SIGCONT)
        assert client.get(f"{V1}/executions/queue").status_code == 200


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """For each time that Redis is asked for a count, which."""
    asked = list[str]()
    add: Any = vars(Counter)["_add"]

    def noted(counter: Counter, digest: str, count: int) -> Any:
        asked.append(digest)
        return add(counter, digest, count)

    monkeypatch.setattr(Counter, "_add", noted)
    return asked


@pytest.mark.slow
@pytest.mark.parametrize("way", ["hangs", "is killed"])
def test_quotas_hold_in_each_process_while_redis_is_away(
    api_of_its_own: Api, server: OwnServer, counted: list[str], way: str
) -> None:
    def status(api: Api, token: str) -> int:
        with api.client(token) as client:
            return client.get(f"{V1}/whoami").status_code

    def is_counted_together(api: Api) -> bool:
        before = len(keys())
        # Each time somebody of whom nothing was counted yet.
        assert status(api, api.token("ann", "read")) == 200
        return len(keys()) > before

    def keys() -> list[bytes]:
        return [key for key in client.scan_iter("exec_queue:quota:*") if not key.endswith(b":look")]

    client: Any
    with (
        redis.Redis.from_url(server.url) as client,
        api_with(api_of_its_own, requests_per_minute=5, failed_logins_per_minute=0) as one,
        api_with(api_of_its_own, requests_per_minute=5, failed_logins_per_minute=0) as two,
    ):
        ann, bob = (api_of_its_own.token(owner, "read") for owner in ("ann", "bob"))
        assert [status(one, ann) for _ in range(3)] == [200] * 3
        assert len(keys()) == 1
        if way == "hangs":
            server.signal(signal.SIGSTOP)
        else:
            server.kill()
        counted.clear()
        # What was taken before counts; what the other process gives, does not.
        assert [status(one, ann) for _ in range(4)] == [200, 200, 429, 429]
        assert [status(two, ann) for _ in range(7)] == [200] * 5 + [429] * 2
        assert [status(one, bob) for _ in range(7)] == [200] * 5 + [429] * 2
        assert [digest != LOOK for digest in counted].count(True) == 2, (
            "one waited in each process, and not all of them"
        )
        if way == "hangs":
            server.signal(signal.SIGCONT)
        else:
            server.start()
        wait_until(lambda: is_counted_together(one) and is_counted_together(two), what="a common count")
        carol = api_of_its_own.token("carol", "read")
        assert sum(status(api, carol) == 200 for _ in range(5) for api in (one, two)) == 5

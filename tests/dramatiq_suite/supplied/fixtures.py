"""The fixtures that Dramatiq's tests ask for, with `BandedRedisBroker` in the place of every broker.

Copied beside the tests of Dramatiq's source distribution, which lacks its own. With ``--actors=gated`` every actor gets
``band=``, so that its queue is a lane; with ``--actors=mixed`` a gated one is declared beside, on each queue and on one
of its own. Each process of pytest-xdist has its own database.
"""

import os
from collections.abc import Iterator
from typing import Any, cast

import dramatiq
import dramatiq.generic
import pytest
import redis
from dramatiq import Broker, Worker
from dramatiq.brokers.stub import StubBroker
from dramatiq.rate_limits import RateLimiterBackend
from dramatiq.rate_limits.backends import RedisBackend as RedisLimiterBackend
from dramatiq.rate_limits.backends import StubBackend as StubLimiterBackend
from dramatiq.results import ResultBackend
from dramatiq.results.backends import RedisBackend, StubBackend

from bandmaster import BandedRedisBroker

from .common import worker
from .joining_broker import JoiningBroker

FEW = 250


def pytest_addoption(parser: pytest.Parser) -> None:
    """``--server``, ``--actors`` and ``--leave-out``."""
    parser.addoption("--server", help="the URL of a server for these tests alone, without a database in it")
    parser.addoption("--actors", choices=["ungated", "gated", "mixed"], default="ungated", help="what is declared")
    parser.addoption("--leave-out", action="append", default=[], help="the name of a test that is not run")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what was asked for; a name that is no test's is an error, so that the list stays true."""
    asked: list[str] = config.getoption("--leave-out") or []
    names = set(asked)
    left_out = [item for item in items if _name_of(item) in names]
    unknown = names - {_name_of(item) for item in left_out}
    if unknown:
        raise pytest.UsageError(f"no such tests: {', '.join(sorted(unknown))}")
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def _name_of(item: pytest.Item) -> str:
    name: str = getattr(item, "originalname", item.name)
    return name


@pytest.fixture(autouse=True)
def fewer_messages(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two tests send 16,000 messages, for the sake of Dramatiq's Lua, which is not what is tried here."""
    module: Any = cast("Any", request).module
    monkeypatch.setattr(module, "LUA_MAX_UNPACK_SIZE", FEW, raising=False)


@pytest.fixture(scope="session")
def server(pytestconfig: pytest.Config) -> Iterator[redis.Redis]:
    """A client of a database of this process's own."""
    number = os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")
    with redis.Redis.from_url(f"{pytestconfig.getoption('--server')}?db={number}") as client:
        yield client


@pytest.fixture(autouse=True)
def declaring(pytestconfig: pytest.Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Gate every actor, or declare a gated one beside, if that was asked for."""
    asked = pytestconfig.getoption("--actors")
    if asked == "ungated":
        return
    declare: Any = dramatiq.actor

    def banded(options: dict[str, Any]) -> None:
        # Dramatiq's own priority, the lower first, is a band too.
        options.setdefault("band", "LOW" if options.get("priority") else "NORMAL")

    def beside(options: dict[str, Any]) -> None:
        broker = dramatiq.get_broker()
        for queue_name in (options.get("queue_name", "default"), "beside"):
            if f"beside-{queue_name}" not in broker.actors:
                declare(lambda: None, actor_name=f"beside-{queue_name}", queue_name=queue_name, band="HIGH")

    def declaring(fn: Any = None, **options: Any) -> Any:
        if isinstance(dramatiq.get_broker(), BandedRedisBroker):
            (banded if asked == "gated" else beside)(options)
        return declare(fn, **options) if fn is not None else declare(**options)

    monkeypatch.setattr(dramatiq, "actor", declaring)
    monkeypatch.setattr(dramatiq.generic, "actor", declaring)


def _made(broker: BandedRedisBroker, client: redis.Redis) -> BandedRedisBroker:
    client.flushdb()
    broker.emit_after("process_boot")
    dramatiq.set_broker(broker)
    return broker


def _end(broker: BandedRedisBroker) -> None:
    broker.close()
    dramatiq.set_broker(StubBroker())  # for the tests that need none; its actors must not be those of another test


@pytest.fixture
def redis_broker(server: redis.Redis) -> Iterator[Broker]:
    """In the place of a `RedisBroker`."""
    broker = _made(BandedRedisBroker(client=server), server)
    yield broker
    _end(broker)


@pytest.fixture
def redis_worker(redis_broker: Broker) -> Iterator[Worker]:
    """A worker of it."""
    with worker(redis_broker, worker_timeout=100, worker_threads=8) as running:
        yield running


@pytest.fixture
def stub_broker(server: redis.Redis) -> Iterator[Broker]:
    """In the place of a `StubBroker`."""
    broker = _made(JoiningBroker(client=server), server)
    yield broker
    _end(broker)


@pytest.fixture
def stub_worker(stub_broker: Broker) -> Iterator[Worker]:
    """A worker of it."""
    with worker(stub_broker, worker_timeout=100, worker_threads=32) as running:
        yield running


@pytest.fixture
def redis_result_backend(server: redis.Redis) -> ResultBackend:
    """Results in Redis."""
    return RedisBackend(client=server)


@pytest.fixture(params=["redis", "stub"])
def result_backend(request: pytest.FixtureRequest, server: redis.Redis) -> ResultBackend:
    """Results in Redis, and in memory."""
    return RedisBackend(client=server) if request.param == "redis" else StubBackend()


@pytest.fixture(params=["redis", "stub"])
def rate_limiter_backend(request: pytest.FixtureRequest, server: redis.Redis) -> RateLimiterBackend:
    """Rate limits in Redis, and in memory."""
    server.flushdb()
    return RedisLimiterBackend(client=server) if request.param == "redis" else StubLimiterBackend()

"""The broker whose lanes are pulled, on an empty database with room for everything."""

import sys
from collections.abc import Iterator

import dramatiq
import pytest
import redis
from dramatiq.brokers.stub import StubBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of

SWITCH_SECONDS = 0.000_05
"""Between looks whether another thread wants to run: short, so that an exception strikes between any two steps."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """The queue on an empty database, as the application's lane sees it."""
    return ExecutionQueueService(redis_client, lane="default")


@pytest.fixture
def broker(redis_url: str, queue: ExecutionQueueService) -> Iterator[BandedRedisBroker]:
    """The broker whose lanes are pulled."""
    broker = BandedRedisBroker(client=client_of(redis_url))
    dramatiq.set_broker(broker)
    broker.emit_after("process_boot")
    yield broker
    broker.close()
    dramatiq.set_broker(StubBroker())


@pytest.fixture
def results(broker: BandedRedisBroker, redis_client: redis.Redis) -> RedisBackend:
    """Where the broker's results are."""
    backend = RedisBackend(client=redis_client)
    broker.add_middleware(Results(backend=backend))
    return backend


def _unsaid(unraisable: object) -> None:
    """Nothing is said of it."""


@pytest.fixture
def threads_alternate(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Threads take turns very often, for tests that throw exceptions into them."""
    # Python drops what strikes while an object is thrown away, and says so; pytest's hook would be struck as well.
    monkeypatch.setattr(sys, "unraisablehook", _unsaid)
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_SECONDS)
    yield
    sys.setswitchinterval(before)

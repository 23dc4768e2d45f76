"""A body that ends while the server is away has its result stored before it is COMPLETED."""

import threading
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import MessageProxy, Worker
from dramatiq.results import ResultMissing, Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants import results as results_module
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from faults_server.own_server import OwnServer
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

LEASE_MS = 60_000


@pytest.fixture
def broker(server: OwnServer) -> Any:
    """With results on the same server."""
    broker = BandedRedisBroker(client=client_of(server.url), lease_ttl_ms=LEASE_MS)
    broker.add_middleware(Results(backend=RedisBackend(client=client_of(server.url)), store_results=True))
    yield broker
    broker.close()


@pytest.fixture
def worker(broker: BandedRedisBroker) -> Any:
    """With one thread."""
    worker = Worker(broker, worker_threads=1, worker_timeout=100)
    yield worker
    worker.stop(timeout=GENEROUS_MS)


def test_what_ended_during_an_outage_has_its_result(
    server: OwnServer, broker: BandedRedisBroker, worker: Worker
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def work() -> int:
        begun.set()
        assert go_on.wait(60)
        return 42

    sent = work.send()
    worker.start()
    assert begun.wait(GENEROUS_SECONDS)
    server.kill()
    go_on.set()
    held = broker.gate.held
    wait_until(lambda: [entry for entry in held.all() if entry.unstored], what="the hook has run", timeout_seconds=60)
    server.start()
    backend = broker.get_results_backend()
    assert sent.get_result(backend=backend, block=True, timeout=60_000) == 42
    broker.join("default", timeout=60_000)
    meta = broker.queue.views.meta(sent.message_id)
    assert (meta["state"], meta["attempt"]) == (State.COMPLETED, "1")


class AwayBackend(RedisBackend):
    """A store of results on a server of its own, which is away."""

    def store_result(self, message: MessageProxy, result: Any, ttl: int) -> None:
        raise redis.ConnectionError("away")


def test_a_store_of_results_that_stays_away_holds_up_no_thread_for_ever(
    server: OwnServer,
    broker: BandedRedisBroker,
    worker: Worker,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(results_module, "_patience_seconds", lambda entry: 1.0)  # type: ignore[misc]
    (results,) = (each for each in broker.middleware if isinstance(each, Results))
    results.backend = AwayBackend(client=client_of(server.url))

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def work() -> int:
        return 42

    sent = work.send()
    worker.start()
    broker.join("default", timeout=60_000)
    assert broker.queue.views.meta(sent.message_id)["state"] == State.COMPLETED
    with pytest.raises(ResultMissing):
        sent.get_result(backend=results.backend)


def test_another_attempts_result_is_not_overwritten_by_one_that_lost_its_grant(
    server: OwnServer, broker: BandedRedisBroker, worker: Worker
) -> None:
    attempts: list[int] = []
    stored: list[Any] = []

    class FirstAway(RedisBackend):
        """Away for the first."""

        def store_result(self, message: MessageProxy, result: Any, ttl: int) -> None:
            if result == 1 and not stored:
                # Meanwhile the execution is taken from this process, and runs again.
                broker.queue.retry(sent.message_id, 1, kind="infrastructure")
                (entry,) = (each for each in broker.gate.held.all() if each.grant.attempt == 1)
                entry.stale = entry.lost = True
                stored.append(None)
                raise redis.ConnectionError("away")
            stored.append(result)
            super().store_result(message, result, ttl)

    (results,) = (each for each in broker.middleware if isinstance(each, Results))
    results.backend = FirstAway(client=client_of(server.url))

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def work() -> int:
        attempts.append(len(attempts) + 1)
        return attempts[-1]

    sent = work.message()
    broker.enqueue(sent)
    worker.start()
    assert sent.get_result(backend=results.backend, block=True, timeout=60_000) == 2
    broker.join("default", timeout=60_000)
    assert stored == [None, 2]

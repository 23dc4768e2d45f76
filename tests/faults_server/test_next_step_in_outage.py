"""A pipeline's next step that the server did not take is sent before the first step is settled, on each broker."""

import threading
from typing import Any, cast

import dramatiq
import pytest
from dramatiq import Broker, Message, Worker, pipeline
from dramatiq.brokers.redis import RedisBroker

from bandmaster import BandedRedisBroker, ConcurrencyGate, PriorityBands
from bandmaster.middleware.grants.table import entry_of
from bandmaster.middleware.grants.unsent import send_unsent
from bandmaster.scheduler.engine.grants import Grant
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import client_of
from faults_server.own_server import OwnServer
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow

LEASE_MS = 60_000
DEADLINE_SECONDS = 0.5
KINDS = ("ours", "plain")


@pytest.fixture
def broker(request: pytest.FixtureRequest, server: OwnServer, redis_url: str) -> Any:
    """Ours, whose server goes away; or Dramatiq's on another server, of which only the queue's goes away."""
    lengths: dict[str, Any] = {"lease_ttl_ms": LEASE_MS, "deadline_seconds": DEADLINE_SECONDS}
    if request.param == "ours":
        broker: Broker = BandedRedisBroker(client=client_of(server.url), **lengths)
    else:
        broker = RedisBroker(client=client_of(redis_url))
        broker.add_middleware(PriorityBands(client_of(server.url), deadline_seconds=DEADLINE_SECONDS))
        broker.add_middleware(ConcurrencyGate(client_of(server.url), **lengths))
    yield broker
    broker.close()


@pytest.mark.parametrize("broker", KINDS, indirect=True)
def test_the_next_step_that_redis_did_not_take_runs_once(
    broker: Broker, server: OwnServer, caplog: pytest.LogCaptureFixture
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ran: list[int] = []

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def first() -> int:
        begun.set()
        assert go_on.wait(60)
        return 42

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def second(value: int) -> None:
        ran.append(value)

    def was_deferred() -> bool:
        return any("follow_up_deferred" in record.getMessage() for record in caplog.records)

    pipeline([first.message(), cast("Any", second).message()], broker=broker).run()
    worker = Worker(broker, worker_threads=1, worker_timeout=100)
    worker.start()
    try:
        assert begun.wait(GENEROUS_SECONDS)
        server.kill()
        go_on.set()
        wait_until(was_deferred, what="the step was not taken", timeout_seconds=60)
        server.start()
        wait_until(lambda: ran, what="the next step", timeout_seconds=60)
        broker.join("default", timeout=60_000)  # type: ignore[call-arg]
    finally:
        worker.stop(timeout=GENEROUS_MS)
    assert ran == [42]


def test_what_cannot_be_sent_again_either_is_kept_in_its_order() -> None:
    entry = entry_of(Grant("x", 1, "nonce", "default", 30_000, None, None), 0.0)
    kept: list[tuple[Message[Any], int | None]] = [
        (Message("default", "work", (number,), {}, {}), None) for number in range(3)
    ]
    entry.unsent.extend(kept)
    sent: list[object] = []

    def enqueue(message: "Message[Any]", delay: int | None) -> None:
        if sent:
            raise QueueUnavailable("Redis did not answer")
        sent.append(message)

    with pytest.raises(QueueUnavailable):
        send_unsent(entry, enqueue)
    assert (sent, entry.unsent) == ([kept[0][0]], kept[1:])

"""The two middleware on brokers that are not ours: hints, limits, order, retries, delays."""

import threading
import time
from collections.abc import Generator

import dramatiq
import pytest
import redis
from dramatiq import Broker, Worker
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker

from bandmaster import ConcurrencyGate, ExecutionQueueService, PriorityBands
from waiting import GENEROUS_MS, wait_until

LIMIT = 2


@pytest.fixture(params=["stub", "redis"])
def broker(request: pytest.FixtureRequest, redis_client: redis.Redis, redis_url: str) -> Generator[Broker]:
    """A plain broker with the two middleware."""
    made: Broker = StubBroker() if request.param == "stub" else RedisBroker(url=redis_url)
    made.emit_after("process_boot")
    made.add_middleware(PriorityBands(redis_client))
    made.add_middleware(ConcurrencyGate(redis_client))
    dramatiq.set_broker(made)
    yield made
    made.close()
    if isinstance(made, RedisBroker):
        made.client.close()


def test_limit_order_retries_and_delays_hold(broker: Broker, redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client, lane="default")
    queue.controls.change_setting("max_concurrent_executions", LIMIT)
    lock = threading.Lock()
    ran: list[int] = []
    running, most = [0], [0]

    @dramatiq.actor(band="LOW", max_retries=1, min_backoff=10, max_backoff=20)
    def run(place: int) -> None:
        with lock:
            running[0] += 1
            most[0] = max(most[0], running[0])
        time.sleep(0.01)
        with lock:
            running[0] -= 1
            ran.append(place)
        if place == 7 and ran.count(7) < 2:
            raise ValueError("once")

    sent = [run.send_with_options(args=(place,), band="CRITICAL" if place >= 25 else None) for place in range(30)]
    run.send_with_options(args=(100,), delay=300)
    worker = Worker(broker, worker_timeout=100, worker_threads=4)
    worker.start()
    try:
        wait_until(lambda: queue.views.lane_size("default") == 0, what="the lane's end")
    finally:
        worker.stop(timeout=GENEROUS_MS)
    assert sorted(ran) == sorted([*range(30), 7, 100])
    assert most[0] <= LIMIT
    admitted = [entry.execution_id for entry in queue.journal.entries() if entry.verb == "admit"]
    assert admitted[:5] == [message.message_id for message in sent[25:]]

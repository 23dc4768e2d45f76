"""A broker on an empty server, and workers that are stopped again."""

from collections.abc import Callable, Generator

import dramatiq
import pytest
import redis
from dramatiq import Worker

from bandmaster import BandedRedisBroker
from waiting import GENEROUS_MS

THREADS = 4

StartWorker = Callable[[], Worker]


@pytest.fixture
def broker(redis_client: redis.Redis, redis_url: str) -> Generator[BandedRedisBroker]:
    """The broker, as a user makes it, with a short lease."""
    made = BandedRedisBroker(url=redis_url, lease_ttl_ms=1_500)
    made.emit_after("process_boot")
    dramatiq.set_broker(made)
    yield made
    made.close()
    made.client.close()


@pytest.fixture
def start_worker(broker: BandedRedisBroker) -> Generator[StartWorker]:
    """Starts workers of this process."""
    started: list[Worker] = []

    def start() -> Worker:
        worker = Worker(broker, worker_timeout=100, worker_threads=THREADS)
        worker.start()
        started.append(worker)
        return worker

    yield start
    for worker in started:
        worker.stop(timeout=GENEROUS_MS)

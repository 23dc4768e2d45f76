"""The server is gone for many leases while every thread of a worker is in a body, and comes back with its data."""

import signal
import time

import pytest
import redis
from acceptance.workers import Workers

from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer
from faults_server.test_f09_f11_f13_away import ended, fill, settled
from waiting import wait_until

pytestmark = pytest.mark.slow

THREADS = 4
LIMIT = 10
"""The default: more than there are threads."""
AWAY_SECONDS = 8.0
"""Five leases, and longer than any call is tried again."""


def test_after_a_long_outage_all_threads_of_its_worker_and_of_the_next_take_work(
    server: OwnServer, client: redis.Redis, workers: Workers
) -> None:
    queue = ExecutionQueueService(client)
    fill(queue, 200, 0.05)
    worker = workers.start(threads=THREADS)
    wait_until(lambda: len(ended(client)) > 20, what="some work")
    server.kill()
    time.sleep(AWAY_SECONDS)  # the fault itself, not a wait for something
    server.start()
    settled(queue, 200, worker, workers.log(0), limit=LIMIT)
    workers.probe(queue)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(timeout=60) == 0
    workers.start(threads=THREADS)
    workers.probe(queue)

"""SIGTERM ends a worker within `--worker-shutdown-timeout`, whatever body or server does; what it held comes back.

The bounds here are Dramatiq's, and how long a loaded machine takes beyond them is not tested: only that a worker ends
long before the body, which sleeps for ten minutes, or the server, which sleeps until the test lets it go on.
"""

import signal
import time
from typing import Final

import pytest
import redis
from acceptance.workers import Process, Workers, tree

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer
from faults_server.test_f09_f11_f13_away import ended, fill
from waiting import wait_until

pytestmark = pytest.mark.slow

BOUND: Final = ("--worker-shutdown-timeout", "2000")
ENDLESS_SECONDS: Final = 600.0
SOON_SECONDS: Final = 90.0


@pytest.fixture
def queue(client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(client, lane="default")


def terminated(worker: Process) -> int:
    """End it as a process manager does; its exit code, once none of its processes is left."""
    processes = tree(worker)
    worker.send_signal(signal.SIGTERM)
    began = time.monotonic()
    code = worker.wait(timeout=SOON_SECONDS)
    assert time.monotonic() - began < ENDLESS_SECONDS
    wait_until(lambda: not any(each.is_running() for each in processes), what="the end of its processes")
    return code


def test_a_body_that_does_not_end_holds_up_a_drain_for_its_bound_and_runs_again_elsewhere(
    client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    fill(queue, 1, ENDLESS_SECONDS)
    worker = workers.start(*BOUND)
    wait_until(lambda: queue.views.status().active_count == 1, timeout_seconds=60, what="the body")
    terminated(worker)
    assert queue.views.meta("place-0")["state"] == State.RUNNING, "nobody has said that it ended"
    workers.start(*BOUND)
    wait_until(lambda: queue.views.meta("place-0")["attempt"] == "2", timeout_seconds=120, what="its second attempt")


def test_what_had_not_begun_is_handed_back_at_once(
    client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    fill(queue, 50, 0.2)
    worker = workers.start(*BOUND)
    wait_until(lambda: len(ended(client)) > 3, timeout_seconds=60, what="some work")
    assert terminated(worker) == 0
    assert queue.views.status().active_count == 0, "what ran has ended, and the rest was not begun"
    left = queue.views.status().queue_depth
    # On a busy machine one may have lost its lease, and have run twice.
    assert left + len(set(ended(client))) == 50


def test_a_worker_ends_at_its_signal_though_the_server_hangs(
    server: OwnServer, client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    fill(queue, 200, 0.1)
    worker = workers.start(*BOUND)
    wait_until(lambda: len(ended(client)) > 3, timeout_seconds=60, what="some work")
    server.signal(signal.SIGSTOP)
    try:
        terminated(worker)
    finally:
        server.signal(signal.SIGCONT)
    workers.start(*BOUND, threads=8)
    wait_until(lambda: queue.views.lane_size("default") == 0, timeout_seconds=120, what="the end of the backlog")
    assert set(ended(client)) == set(range(200)), "none was lost"

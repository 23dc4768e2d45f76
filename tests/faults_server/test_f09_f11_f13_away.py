"""F9: the server sleeps. F11: it cannot be reached. F13: it is far away. Workers go on by themselves afterwards."""

import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import redis
from acceptance.workers import Process, Workers
from dramatiq import Message
from history import History
from proxy import proxy_before

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.own_server import OwnServer
from waiting import wait_until

pytestmark = pytest.mark.slow

LIMIT = 3
THREADS = 4


def fill(queue: ExecutionQueueService, count: int, seconds: float) -> None:
    """Park executions of `ten_lines.work`, numbered from 0."""
    messages = [
        Message[Any](queue_name="default", actor_name="work", args=(place, seconds), kwargs={}, options={}).encode()
        for place in range(count)
    ]
    parked = queue.transitions.park_many(
        [
            Candidate(f"place-{place}", "default", 2, "work", timeout_ms=60_000, message=message)
            for place, message in enumerate(messages)
        ]
    )
    assert len(parked) == count


def ended(client: redis.Redis) -> list[int]:
    """The numbers of those whose body came to its end."""
    said: Any = client.lrange("ended", 0, -1)
    return [int(place) for place in said]


def settled(queue: ExecutionQueueService, count: int, worker: Process, log: Path, *, limit: int = LIMIT) -> None:
    """Everything ran, under its limit and in order, and the worker that began still lives."""

    def drained() -> bool:
        assert worker.poll() is None, f"the worker ended with {worker.returncode}:\n{log.read_text()[-3000:]}"
        return queue.views.lane_size("default") == 0

    wait_until(drained, timeout_seconds=120, what="the end of the backlog")
    assert sorted(set(ended(queue.scripts.client))) == list(range(count))
    assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    history = History(limit, {}).read(queue.journal.entries())
    assert history.living() == []
    assert queue.views.dead() == []


@pytest.fixture
def queue(client: redis.Redis) -> ExecutionQueueService:
    """The application's queue, with a low limit."""
    queue = ExecutionQueueService(client, lane="default")
    queue.controls.change_setting("max_concurrent_executions", LIMIT)
    return queue


def test_f9_a_server_that_sleeps_for_25_s_finds_its_workers_alive(
    server: OwnServer, client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    fill(queue, 400, 0.01)
    worker = workers.start(threads=THREADS)
    wait_until(lambda: len(ended(client)) > 20, what="some work")
    server.signal(signal.SIGSTOP)
    time.sleep(25)  # the fault itself, not a wait for something
    server.signal(signal.SIGCONT)
    settled(queue, 400, worker, workers.log(0))
    workers.probe(queue)


@pytest.mark.parametrize("seconds", [8, pytest.param(60, marks=pytest.mark.nightly)])
def test_f11_workers_find_a_server_again_that_refused_connections(
    seconds: float,
    server: OwnServer,
    client: redis.Redis,
    queue: ExecutionQueueService,
    workers: Workers,
) -> None:
    fill(queue, 400, 0.01)
    with proxy_before(server.url) as proxy:
        worker = workers.start(url=proxy.url, threads=THREADS)
        wait_until(lambda: len(ended(client)) > 20, what="some work")
        proxy.refuses = True
        proxy.break_connections()
        time.sleep(seconds)  # the fault itself, not a wait for something
        assert len(ended(client)) < 400, "it was away"
        proxy.refuses = False
        settled(queue, 400, worker, workers.log(0))
        workers.probe(queue)


def test_f13_workers_far_from_a_server_never_pass_a_limit(
    server: OwnServer, client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    fill(queue, 30, 0.05)
    with proxy_before(server.url) as proxy:
        proxy.delay_seconds = 0.2
        draw = random.Random(13)
        proxy.lose_reply(lambda command: command[0] == b"FCALL" and draw.random() < 0.05)
        first, second = (workers.start(url=proxy.url, threads=THREADS) for _ in range(2))
        settled(queue, 30, first, workers.log(0))
        assert second.poll() is None
        workers.probe(queue)
        assert proxy.lost > 0

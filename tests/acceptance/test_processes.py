"""Real worker processes of an ordinary application: killed, stopped past their lease, restarted; nothing is lost."""

import os
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest
import redis
from dramatiq import Message
from ended_leases import LONG_LEASE_MS, end_leases
from probing import probe_threads

from acceptance.workers import LANE, TESTS, Workers, signal_all, tree
from bandmaster import ExecutionQueueService
from bandmaster.scheduler.engine.transitions import Candidate
from waiting import wait_until

pytestmark = pytest.mark.slow


@pytest.fixture
def workers(redis_url: str, tmp_path: Path) -> Generator[Workers]:
    """Worker processes of two threads each; all are ended."""
    made = Workers(redis_url, tmp_path, lease_ms=LONG_LEASE_MS)
    yield made
    made.end()


def heard(client: redis.Redis, name: str) -> list[int]:
    """What the bodies said."""
    said: Any = client.lrange(name, 0, -1)
    return [int(place) for place in said]


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """The application's queue."""
    return ExecutionQueueService(redis_client, lane="default")


def send(redis_url: str, place: int, seconds: float = 0.0) -> str:
    """Send as a producer would, from a process of its own kind: through the broker; returns the execution's id."""
    code = (
        "import sys; from acceptance.ten_lines import work; "
        "print(work.send(int(sys.argv[1]), float(sys.argv[2])).options['execution_id'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(place), str(seconds)],
        cwd=TESTS,
        env={**os.environ, "APP_REDIS_URL": redis_url},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def test_a_killed_worker_s_executions_run_again_with_the_next_attempt(
    redis_client: redis.Redis, redis_url: str, queue: ExecutionQueueService, workers: Workers
) -> None:
    first = workers.start()
    execution_id = send(redis_url, 1, 5.0)
    wait_until(lambda: heard(redis_client, "began") == [1], what="the first attempt")
    signal_all(first, signal.SIGKILL)
    end_leases(queue)
    workers.start()
    wait_until(lambda: heard(redis_client, "began") == [1, 1], what="the second attempt")
    assert queue.views.meta(execution_id)["attempt"] == "2"
    assert queue.views.meta(execution_id)["crashes"] == "1"
    assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 1}
    workers.probe(queue)


def test_a_worker_stopped_past_its_lease_changes_nothing_when_it_goes_on(
    redis_client: redis.Redis, redis_url: str, queue: ExecutionQueueService, workers: Workers
) -> None:
    first = workers.start()
    execution_id = send(redis_url, 1, 3.0)
    wait_until(lambda: heard(redis_client, "began") == [1], what="the first attempt")
    signal_all(first, signal.SIGSTOP)
    wait_until(lambda: all(each.status() == psutil.STATUS_STOPPED for each in tree(first)), what="it sleeps")
    end_leases(queue)
    workers.start()
    wait_until(lambda: heard(redis_client, "began") == [1, 1], what="the second attempt")
    signal_all(first, signal.SIGCONT)
    wait_until(lambda: heard(redis_client, "ended") == [1, 1], what="both ends")
    wait_until(lambda: queue.views.lane_size("default") == 0, what="the end")
    released = [entry for entry in queue.journal.of(execution_id) if entry.verb == "release"]
    assert [(entry.fields["state"], entry.fields["attempt"]) for entry in released] == [("COMPLETED", "2")]
    workers.probe(queue)


def test_a_rolling_restart_under_load_loses_nothing(
    redis_client: redis.Redis, redis_url: str, queue: ExecutionQueueService, workers: Workers
) -> None:
    queue.transitions.park_many(
        [
            Candidate(f"place-{place}", "default", 2, "work", timeout_ms=60_000, message=message(place))
            for place in range(300)
        ]
    )
    running = [workers.start(), workers.start()]
    for restarted in range(2):
        wait_until(lambda: len(heard(redis_client, "ended")) > 60 * (restarted + 1), what="some ends")  # noqa: B023
        running[restarted].send_signal(signal.SIGTERM)
        assert running[restarted].wait(timeout=60) == 0
        workers.start()
    wait_until(lambda: queue.views.lane_size("default") == 0, timeout_seconds=60, what="the end of all")
    assert sorted(heard(redis_client, "ended")) == list(range(300))
    assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    workers.probe(queue)


def test_the_probe_tells_how_many_threads_take_work(
    redis_url: str, redis_client: redis.Redis, queue: ExecutionQueueService, workers: Workers
) -> None:
    workers.start(threads=3)
    send(redis_url, 1, 60.0)
    wait_until(lambda: heard(redis_client, "began") == [1], what="a thread that takes no work")
    probe_threads(queue, LANE, 2)  # these two take work, so what is missing afterwards is the third
    with pytest.raises(AssertionError, match="2 of 3 threads take work"):
        probe_threads(queue, LANE, 3, timeout_seconds=5)


def message(place: int) -> bytes:
    """A message as a producer's broker encodes it."""
    encoded = Message[Any](queue_name="default", actor_name="work", args=(place, 0.005), kwargs={}, options={})
    return encoded.encode()

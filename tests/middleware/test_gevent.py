"""`dramatiq-gevent`: a body is a greenlet, and a cancellation interrupts it where it waits."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import dramatiq
import pytest
import redis

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.connection import client_of
from bandmaster.scheduler.states import State
from waiting import wait_until

APPLICATION = """
import os
import time

import dramatiq
import redis

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.connection import client_of

client = client_of(os.environ["APPLICATION_REDIS_URL"])
dramatiq.set_broker(BandedRedisBroker(client=client, lease_ttl_ms=600))
said = redis.Redis.from_url(os.environ["APPLICATION_REDIS_URL"])


@dramatiq.actor(band="HIGH", min_backoff=1)
def work(name, seconds):
    said.rpush("said", f"{name} began")
    try:
        time.sleep(seconds)
    except BaseException as interrupt:
        said.rpush("said", f"{name} {type(interrupt).__name__}")
        raise
    said.rpush("said", f"{name} ended")
"""


@pytest.fixture
def log(redis_url: str, redis_client: redis.Redis, tmp_path: Path) -> Iterator[Path]:
    """A worker process under gevent, and where it logs."""
    (tmp_path / "application.py").write_text(APPLICATION)
    path = tmp_path / "log"
    with path.open("w") as out:
        worker = subprocess.Popen(
            [
                str(Path(sys.executable).with_name("dramatiq-gevent")),
                "application",
                "--processes",
                "1",
                "--threads",
                "8",
            ],
            cwd=tmp_path,
            env=os.environ | {"APPLICATION_REDIS_URL": redis_url, "PYTHONPATH": str(tmp_path)},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        yield path
        worker.send_signal(signal.SIGTERM)
        worker.wait(timeout=60)


def test_a_cancelled_body_is_interrupted_and_the_others_go_on(
    redis_url: str, redis_client: redis.Redis, queue: ExecutionQueueService, log: Path
) -> None:
    broker = BandedRedisBroker(client=client_of(redis_url))

    @dramatiq.actor(broker=broker, band="HIGH")
    def work(name: str, seconds: float) -> None: ...

    def said() -> list[str]:
        raw: list[bytes] = redis_client.lrange("said", 0, -1)  # type: ignore[assignment]
        return [line.decode() for line in raw]

    cancelled, other = work.send("cancelled", 60), work.send("other", 3)
    wait_until(lambda: len(said()) == 2, what="both have begun", timeout_seconds=60)
    queue.cancel(cancelled.message_id)
    wait_until(lambda: "cancelled ExecutionCancelled" in said(), what="the interrupt", timeout_seconds=60)
    wait_until(lambda: queue.views.lane_size("default") == 0, what="the end", timeout_seconds=60)
    assert "other ended" in said()
    states = [queue.views.meta(sent.message_id)["state"] for sent in (cancelled, other)]
    assert states == [State.CANCELLED, State.COMPLETED]
    assert queue.views.meta(cancelled.message_id)["attempt"] == "1"
    text = log.read_text()
    assert "CRITICAL" not in text
    assert "Traceback" not in text
    broker.close()

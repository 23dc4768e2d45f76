"""`dramatiq-gevent`: a body is a greenlet; it settles together with others, and a cancellation interrupts it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dramatiq
import pytest
import redis
from counting import calls
from dramatiq import Message
from history import History

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until

pytestmark = pytest.mark.slow

GREENLETS = 16
JOBS = 600
APPLICATION = """
import os
import time

import dramatiq
import redis

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants.context import current_entry
from bandmaster.scheduler.server.connection import client_of

client = client_of(os.environ["APPLICATION_REDIS_URL"])
dramatiq.set_broker(BandedRedisBroker(client=client, lease_ttl_ms=6_000))
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




for name, band in (("first", "HIGH"), ("second", "LOW")):

    def tick():
        said.rpush("ran", current_entry().grant.execution_id)
        time.sleep(0.002)

    dramatiq.actor(tick, actor_name=name, queue_name=name, band=band, gates=["disk"] if name == "first" else [])
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
                str(GREENLETS),
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


def test_greenlets_settle_together_and_each_runs_once(
    redis_client: redis.Redis, queue: ExecutionQueueService, log: Path
) -> None:
    queue.controls.set_limit("disk", 5)
    wait_until(lambda: "ready for action" in log.read_text(), what="the worker", timeout_seconds=60)
    messages: list[Message[Any]] = [
        Message(queue_name=name, actor_name=name, args=(), kwargs={}, options={})
        for name in ("first", "second") * (JOBS // 2)
    ]
    asked = calls(redis_client, "fcall")
    queue.transitions.park_many([candidate(each) for each in messages])

    def left() -> int:
        return sum(queue.on(lane).views.lane_size(lane) for lane in ("first", "second"))

    wait_until(lambda: left() == 0, what="the end of all", timeout_seconds=60)
    ran: list[bytes] = redis_client.lrange("ran", 0, -1)  # type: ignore[assignment]
    assert sorted(ran) == sorted(each.message_id.encode() for each in messages)
    metas = queue.views.metas([each.message_id for each in messages])
    assert {(meta["state"], meta["attempt"]) for meta in metas} == {(State.COMPLETED, "1")}
    assert calls(redis_client, "fcall") - asked < JOBS, "they go together"
    history = History(JOBS, queue.controls.limits()).read(queue.journal.entries())
    assert not history.living()
    text = log.read_text()
    assert "CRITICAL" not in text
    assert "Traceback" not in text


def candidate(message: "Message[Any]") -> Candidate:
    is_limited = message.actor_name == "first"
    return Candidate(
        message.message_id,
        message.queue_name,
        1 if is_limited else 3,
        message.actor_name,
        gates=("disk",) if is_limited else (),
        message=message.encode(),
    )

"""The pulse of a worker process: it beats while the threads go round, and stops when one of them hangs."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import dramatiq
import pytest
from dramatiq import MessageProxy
from working import running

from bandmaster import BandedRedisBroker
from bandmaster.middleware.worker.health_file import WorkerPulse
from bandmaster.middleware.worker.lane_consumer import LaneConsumer
from bandmaster.middleware.worker.pump import Pump
from bandmaster.middleware.worker.repairs import Repairs
from bandmaster.middleware.worker.thread_supervision import Progress
from bandmaster.scheduler.process.health_file import READY, WAITS
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_SECONDS, wait_until

STUCK_SECONDS: Final = 2.0
SILENCE_SECONDS: Final = 3.0


class Hang:
    """Where a thread stops until the test lets it go on."""

    def __init__(self) -> None:
        self.on = False
        self.entered = threading.Event()
        self.go_on = threading.Event()

    def pass_through(self) -> None:
        """Hang, if it is on."""
        if self.on:
            self.entered.set()
            self.go_on.wait(60)

    def begin(self) -> None:
        self.on = True
        assert self.entered.wait(GENEROUS_SECONDS)

    def end(self) -> None:
        self.on = False
        self.go_on.set()


@pytest.fixture
def hang() -> Iterator[Hang]:
    hang = Hang()
    yield hang
    hang.end()


def add_pulse(broker: BandedRedisBroker, folder: Path, url: str) -> None:
    client = client_of(url, socket_timeout_seconds=1)
    broker.add_middleware(WorkerPulse(broker.process, client, folder, every_seconds=0.05, stuck_seconds=STUCK_SECONDS))

    @dramatiq.actor(band="HIGH", broker=broker)
    def work() -> None:
        """Something to consume for."""


def beaten(folder: Path) -> int:
    """When the pulse last beat; 0: never."""
    return max((path.stat().st_mtime_ns for path in folder.glob("*.pulse")), default=0)


def beats(folder: Path) -> None:
    """Wait for another beat."""
    last = beaten(folder)
    wait_until(lambda: beaten(folder) > last, what="the next beat")


def has_stopped(folder: Path) -> None:
    """Wait until it has not beaten for many rounds."""
    wait_until(
        lambda: time.time_ns() - beaten(folder) > SILENCE_SECONDS * 1e9, timeout_seconds=60, what="the end of the pulse"
    )


def beats_on(folder: Path) -> None:
    """Wait until it has beaten for longer than a thread may hang."""
    since = time.time_ns()
    wait_until(lambda: beaten(folder) - since > 2 * STUCK_SECONDS * 1e9, timeout_seconds=60, what="the pulse to go on")


def test_a_worker_has_a_pulse_from_its_boot(broker: BandedRedisBroker, redis_url: str, tmp_path: Path) -> None:
    add_pulse(broker, tmp_path, redis_url)
    with running(broker):
        beats(tmp_path)
        beats(tmp_path)
        (path,) = tmp_path.glob("*.pulse")
        assert path.read_bytes() == READY
    has_stopped(tmp_path)


def test_a_server_that_does_not_answer_stops_no_pulse(broker: BandedRedisBroker, tmp_path: Path) -> None:
    add_pulse(broker, tmp_path, "redis://127.0.0.1:1/0")
    with running(broker):
        beats(tmp_path)
        beats(tmp_path)
        (path,) = tmp_path.glob("*.pulse")
        assert path.read_bytes() == WAITS


def test_a_consumer_that_hangs_stops_the_pulse(
    broker: BandedRedisBroker, redis_url: str, tmp_path: Path, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = LaneConsumer.__next__

    def hanging(consumer: LaneConsumer) -> MessageProxy | None:
        hang.pass_through()
        return original(consumer)

    monkeypatch.setattr(LaneConsumer, "__next__", hanging)
    add_pulse(broker, tmp_path, redis_url)
    with running(broker):
        beats(tmp_path)
        hang.begin()
        has_stopped(tmp_path)
        hang.end()
        beats(tmp_path)


def test_a_heartbeat_that_hangs_stops_the_pulse(
    broker: BandedRedisBroker, redis_url: str, tmp_path: Path, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Repairs.round

    def hanging(upkeep: Repairs) -> bool:
        hang.pass_through()
        return original(upkeep)

    monkeypatch.setattr(Repairs, "round", hanging)
    add_pulse(broker, tmp_path, redis_url)
    with running(broker):
        beats(tmp_path)
        hang.begin()
        has_stopped(tmp_path)
        hang.end()
        beats(tmp_path)


def test_a_pump_that_hangs_stops_the_pulse(
    broker: BandedRedisBroker, redis_url: str, tmp_path: Path, hang: Hang, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = Pump.round

    def hanging(pump: Pump, longest_seconds: float) -> None:
        hang.pass_through()
        original(pump, longest_seconds)

    monkeypatch.setattr(Pump, "round", hanging)
    add_pulse(broker, tmp_path, redis_url)
    with running(broker):
        beats(tmp_path)
        hang.begin()
        has_stopped(tmp_path)
        hang.end()
        beats(tmp_path)


def test_a_body_that_takes_long_stops_no_pulse(broker: BandedRedisBroker, redis_url: str, tmp_path: Path) -> None:
    add_pulse(broker, tmp_path, redis_url)
    begun, go_on = threading.Event(), threading.Event()

    @dramatiq.actor(band="HIGH", broker=broker)
    def slow() -> None:
        begun.set()
        go_on.wait(60)

    with running(broker, threads=1):
        slow.send()
        assert begun.wait(GENEROUS_SECONDS)
        beats_on(tmp_path)
        go_on.set()


def test_a_paused_worker_keeps_its_pulse(broker: BandedRedisBroker, redis_url: str, tmp_path: Path) -> None:
    add_pulse(broker, tmp_path, redis_url)
    with running(broker) as worker:
        worker.pause()
        beats_on(tmp_path)
        worker.resume()


def test_a_thread_that_is_new_has_all_its_time() -> None:
    progress, ended = Progress(), threading.Event()
    thread = threading.Thread(target=ended.wait, name="new")
    assert progress.stuck([thread], 1000) == []
    assert progress.stuck([thread], -1) == ["new"]

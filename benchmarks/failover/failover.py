"""Counts the executions that were acknowledged and are gone after a failover or a restart under load.

Four threads send while it happens. `killed`: the primary is killed, its replica promoted. `cut off`: the replica is
promoted while the senders still reach the old primary for 200 ms, as in a partition; then that is killed. `restarted`:
a primary with an append-only file is killed and started again. With `WAIT 1` a sender counts an execution as accepted
once a replica has it: a write behind it on a connection of its own, and ``WAIT 1`` for that, since a replica takes
writes in order. No disk is lost here: what `appendfsync` saves of a power failure cannot be shown by killing a process.
"""

import contextlib
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from bandmaster.scheduler.model.errors import BandmasterError
from bandmaster.scheduler.queue import ExecutionQueueService

from ..question import Figure, Measured, Question
from ..rig import Rig
from ..server import BECOME_SERVER

THREADS: Final = 4
CUT_SECONDS: Final = 0.2
WAIT_MS: Final = 100
SIDES: Final = (
    "killed",
    "killed, WAIT 1",
    "cut off for 200 ms",
    "cut off for 200 ms, WAIT 1",
    "restarted, appendfsync everysec",
    "restarted, appendfsync always",
)


class _Server:
    def __init__(self, folder: Path, *options: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = int(listener.getsockname()[1])
        folder.mkdir(parents=True, exist_ok=True)
        self._words = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(folder), "--save", "", *options]
        self._words += ["--logfile", str(folder / "log"), "--repl-diskless-sync-delay", "0"]
        self.client: Any = redis.Redis(port=self.port, protocol=2, retry=Retry(NoBackoff(), 0))
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *self._words])
        _until(self._answers)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def _answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except (redis.ConnectionError, redis.BusyLoadingError):
            return False


def _until(is_so: Any) -> None:
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("the servers of the failover did not get ready")
        time.sleep(0.01)


def measure(rig: Rig, side: str) -> Measured:
    """Send under load, let it happen, and count."""
    folder = rig.folder / f"failover-{time.monotonic_ns()}"
    is_restart, waits = side.startswith("restarted"), side.endswith("WAIT 1")
    aof = ("--appendonly", "yes", "--appendfsync", side.rpartition(" ")[2]) if is_restart else ()
    primary = _Server(folder / "primary", *aof)
    replica = None if is_restart else _Server(folder / "replica", "--replicaof", f"127.0.0.1 {primary.port}")
    if replica is not None:
        _until(lambda: replica.client.info("replication")["master_link_status"] == "up")
    queue = ExecutionQueueService(primary.client, deadline_seconds=2.0)
    queue.controls.change_setting("max_queue_size", 10_000_000)
    acknowledged: list[str] = []
    over = threading.Event()
    threads = [
        threading.Thread(target=_send, args=(primary.port, number, over, acknowledged, waits))
        for number in range(THREADS)
    ]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    time.sleep(rig.sized(300, 1_000, 5_000) / 1_000)
    sent, took = len(acknowledged), time.perf_counter() - began
    if replica is not None and side.startswith("cut off"):
        replica.client.replicaof("NO", "ONE")
        time.sleep(CUT_SECONDS)
    primary.kill()
    over.set()
    for thread in threads:
        thread.join()
    if replica is None:
        primary.start()
        survivor = primary
    else:
        replica.client.replicaof("NO", "ONE")
        survivor = replica
    views = ExecutionQueueService(survivor.client).views
    lost = sum(not meta for page in _pages(acknowledged) for meta in views.metas(page))
    for each in filter(None, (primary, replica)):
        with contextlib.suppress(ProcessLookupError):
            each.kill()
    return {"acknowledged": sent / took, "lost": lost}


def _send(port: int, number: int, over: threading.Event, acknowledged: list[str], waits: bool) -> None:
    queue = ExecutionQueueService(redis.Redis(port=port, protocol=2), deadline_seconds=1.0)
    beside: Any = redis.Redis(port=port, protocol=2, retry=Retry(NoBackoff(), 0))
    count = 0
    while not over.is_set():
        count += 1
        name = f"{number}-{count}"
        try:
            queue.enqueue({"execution_id": name, "command": ["true"]})
            if waits:
                pipeline = beside.pipeline(transaction=False)
                pipeline.set("waited", name)
                pipeline.execute_command("WAIT", 1, WAIT_MS)
                if pipeline.execute()[1] < 1:
                    continue
        except (BandmasterError, redis.RedisError):
            continue
        acknowledged.append(name)


def _pages(names: list[str]) -> list[list[str]]:
    return [names[start : start + 500] for start in range(0, len(names), 500)]


QUESTION = Question(
    name="failover",
    asks="How many acknowledged executions does a failover under load lose, sent by 4 threads?",
    sides=SIDES,
    figures=(Figure("acknowledged", "1/s"), Figure("lost", "executions")),
    measure=measure,
)

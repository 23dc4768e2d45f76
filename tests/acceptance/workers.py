"""Worker processes of an application that is a module of the tests, with all their children."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from probing import MODULE, probe_environment, probe_threads

from bandmaster.scheduler.queue import ExecutionQueueService

Process = subprocess.Popen[bytes]
TESTS = Path(__file__).parent.parent
LANE = "default"
SHORT_LEASE_MS = 1_500
"""For faults that last longer."""


def tree(process: Process) -> list[psutil.Process]:
    """A worker with its children, while it lives."""
    try:
        parent = psutil.Process(process.pid)
        return [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return []


def signal_all(process: Process, number: signal.Signals) -> None:
    """Send a signal to a worker and its children."""
    for each in tree(process):
        each.send_signal(number)


class Workers:
    """Starts them on one server; their logs go into a folder."""

    def __init__(
        self,
        url: str,
        folder: Path,
        *,
        module: str = "acceptance.ten_lines",
        said_url: str | None = None,
        lease_ms: int = SHORT_LEASE_MS,
    ) -> None:
        """Starts nothing yet.

        Args:
            url: Of the server.
            folder: Of the logs.
            module: The application; its lane is `default`.
            said_url: Of the server to which the bodies say what they do, if it is another.
            lease_ms: Of the application, if it is that one.
        """
        self._url = url
        self._said_url = said_url or url
        self._module = module
        self._lease_ms = lease_ms
        self._folder = folder
        self._started: list[Process] = []
        self._threads: dict[int, int] = {}

    def start(self, *options: str, url: str | None = None, threads: int = 2) -> Process:
        """One worker process.

        Args:
            *options: Further ones of Dramatiq's command line.
            url: By which its broker reaches the server, if not straight. What the bodies say goes straight all the
                same: a body that fails would wait for its retry.
            threads: Of the worker.
        """
        with self.log(len(self._started)).open("wb") as log:
            process = subprocess.Popen(
                [
                    sys.executable,
                    "-m",
                    "dramatiq",
                    self._module,
                    MODULE,
                    "--processes",
                    "1",
                    "--threads",
                    str(threads),
                    *options,
                ],
                cwd=TESTS,
                env={
                    **os.environ,
                    "APP_REDIS_URL": url or self._url,
                    "APP_SAID_URL": self._said_url,
                    "APP_LEASE_MS": str(self._lease_ms),
                    **probe_environment(self._url, LANE),
                },
                stdout=log,
                stderr=log,
            )
        self._started.append(process)
        self._threads[process.pid] = threads
        return process

    def log(self, number: int) -> Path:
        """What the worker that was started as this one said."""
        return self._folder / f"worker-{number}.log"

    def probe(self, queue: ExecutionQueueService) -> None:
        """All threads of those that live still take work."""
        living = [each for each in self._started if each.poll() is None]
        probe_threads(queue, LANE, sum(self._threads[each.pid] for each in living))

    def end(self) -> None:
        """All of them, whatever state they are in."""
        for process in self._started:
            for each in tree(process):
                each.kill()
            process.wait()

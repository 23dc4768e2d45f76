"""Worker processes of `ten_lines.py`, with all their children."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

Process = subprocess.Popen[bytes]
TESTS = Path(__file__).parent.parent


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

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self._started: list[Process] = []

    def start(self, *, url: str | None = None, threads: int = 2) -> Process:
        """One worker process.

        Args:
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
                    "acceptance.ten_lines",
                    "--processes",
                    "1",
                    "--threads",
                    str(threads),
                ],
                cwd=TESTS,
                env={**os.environ, "APP_REDIS_URL": url or self._url, "APP_SAID_URL": self._url},
                stdout=log,
                stderr=log,
            )
        self._started.append(process)
        return process

    def log(self, number: int) -> Path:
        """What the worker that was started as this one said."""
        return self._folder / f"worker-{number}.log"

    def end(self) -> None:
        """All of them, whatever state they are in."""
        for process in self._started:
            for each in tree(process):
                each.kill()
            process.wait()

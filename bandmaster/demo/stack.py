"""Starts and ends the demo's processes: embedded server, worker and scheduler, with data and logs in their own folder.

In the flow: started before anything is submitted, ended after the last check, whatever happens in between. SIGTERM and
a closed terminal (SIGHUP) end the demo in order. If the demo is killed, its processes end with it on Linux.
"""

import contextlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Final

import redis

from bandmaster.configs.areas import PathSettings
from bandmaster.configs.children import OURS, Replaced, child_environment
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.server.connection import connect
from bandmaster.scheduler.server.valkey import end_with_parent

STOP_SECONDS: Final = 20.0
START_SECONDS: Final = 30.0
COMMANDS: Final = {
    "redis": ("-m", "bandmaster.scheduler.server.embedded"),
    "worker": ("-m", "dramatiq", "bandmaster.actors", "--path", "--processes", "1", "--threads", "6"),
    "scheduler": ("-m", "bandmaster.scheduler"),
}


class StackFailed(Exception):
    """A process of the demo ended by itself; the message names it and its log."""


class Stack:
    """The running processes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # The demo starts its own server, whatever server is configured.
        self.settings = Settings(paths=PathSettings(var_dir=folder), redis={"url": None})  # pyright: ignore[reportArgumentType]
        self.replaced: Replaced = {("paths", "var_dir"): str(folder), ("redis", "url"): ""}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @contextlib.contextmanager
    def running(self) -> Generator[redis.Redis]:
        """Start everything in an empty folder; end everything after.

        Raises:
            QueueUnavailable: If the server did not come up.
        """
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                signal.signal(number, _end)
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        try:
            for name, command in COMMANDS.items():
                self._start(name, command)
            with connect(self.settings, wait_seconds=START_SECONDS, name="bandmaster-demo") as client:
                yield client
        finally:
            self._stop()

    def check(self) -> None:
        """Raise StackFailed if a process has ended."""
        for name, process in self._processes.items():
            if process.poll() is not None:
                raise StackFailed(f"{name} ended with exit code {process.returncode}; see {self.log_of(name)}")

    def log_of(self, name: str) -> Path:
        """The path of a process's log."""
        return self.folder / f"{name}.log"

    def _start(self, name: str, command: tuple[str, ...]) -> None:
        with self.log_of(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                [sys.executable, *command],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=child_environment(self.replaced) | OURS,
                # So Ctrl-C reaches only the demo, which ends the processes in order.
                start_new_session=True,
                preexec_fn=end_with_parent,
            )

    def _stop(self) -> None:
        # The server last, so that the others can settle.
        for name in reversed(COMMANDS):
            process = self._processes.pop(name, None)
            if process is None or process.poll() is not None:
                continue
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _end(number: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + number)

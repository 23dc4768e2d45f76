"""The test rig of all questions: one server, real worker processes, and the records of their jobs.

In the flow: all questions share one rig. Workers are `dramatiq` processes as an application runs them. They are killed
after a side was measured, since the server is emptied next; if this process dies, the kernel ends them.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from types import MappingProxyType
from typing import Final

import redis

from bandmaster.scheduler.server.valkey import end_with_parent

from .bare_jobs import BareJobs
from .gated_jobs import GatedJobs
from .jobs import LANES, Jobs
from .question import BARE
from .records import FOLDER_VARIABLE, SERVER_VARIABLE, Record, count_records, read_records

QUEUE: Final = "default"
ROOT: Final = Path(__file__).resolve().parents[1]
LONGEST_WAIT_SECONDS: Final = 600.0


class Size(IntEnum):
    """The amount of measurement; the figures of the first two sizes say little."""

    SMALLEST = 0
    """For tests, which only check that it works."""
    QUICK = 1
    """All questions in under a minute."""
    FULL = 2
    LONG = 3
    """A million jobs for the question about memory over time."""


class Rig:
    """One server and a folder for records and logs."""

    def __init__(self, url: str, folder: Path, size: Size) -> None:
        self.url = url
        self.folder = folder
        self.size = size
        self.client = redis.Redis.from_url(url)

    def sized(self, smallest: int, quick: int, full: int, long: int | None = None) -> int:
        """The number for the rig's size."""
        return (smallest, quick, full, full if long is None else long)[self.size]

    def empty(self) -> None:
        """Delete all data on the server and all records; no worker may be running."""
        self.client.flushdb()
        for path in self.folder.glob("*.records"):
            path.unlink()

    def forget_records(self) -> None:
        """Delete the records while workers go on writing."""
        for path in self.folder.glob("*.records"):
            os.truncate(path, 0)

    def jobs(self, side: str) -> Jobs:
        """The actors of a side, to send to."""
        if side.startswith(BARE):
            return BareJobs(self.url)
        return GatedJobs(self.url)

    @contextmanager
    def workers(
        self, side: str, *, processes: int = 1, threads: int = 8, queues: tuple[str, ...] = (QUEUE,), lanes: int = 0
    ) -> Generator[None]:
        """Run worker processes of a side during the block; they are still booting when it begins.

        Args:
            side: The side.
            processes: The number of processes.
            threads: The number of threads of each.
            queues: The queues that they consume.
            lanes: If set, they consume so many of the many queues (`Jobs.declare_lanes`) instead.
        """
        app = "bare" if side.startswith(BARE) else "gated"
        if lanes:
            app, queues = f"{app}_lanes", LANES[:lanes]
        of_dramatiq = ("dramatiq", f"benchmarks.apps.{app}:broker", "--processes", str(processes))
        with self.process(*of_dramatiq, "--threads", str(threads), "--queues", *queues):
            yield

    @contextmanager
    def process(
        self, module: str, *arguments: str, environment: Mapping[str, str] = MappingProxyType({})
    ) -> Generator[None]:
        """Run a Python module as a process during the block.

        Args:
            module: Its name.
            arguments: Its arguments.
            environment: Variables that it gets besides this process's.
        """
        variables = {**os.environ, SERVER_VARIABLE: self.url, FOLDER_VARIABLE: str(self.folder), **environment}
        with (self.folder / "workers.log").open("ab") as log:
            group = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env=variables,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        try:
            yield
        finally:
            # Killed, since stopping them takes seconds and their work is not needed any more.
            os.killpg(group.pid, signal.SIGKILL)
            group.wait()

    def records(self) -> list[Record]:
        """The records of the jobs, in the order in which they started."""
        return read_records(self.folder)

    def wait_for_records(self, count: int) -> list[Record]:
        """Wait until so many jobs have ended.

        Raises:
            TimeoutError: If they have not, after a time that suffices for any machine.
        """
        self.wait_until(lambda: count_records(self.folder) >= count, f"{count} jobs")
        return self.records()

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait until a condition holds, checking it every 5 ms."""
        deadline = time.monotonic() + LONGEST_WAIT_SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} were not done in {LONGEST_WAIT_SECONDS:g} s; see {self.folder}/workers.log")
            time.sleep(0.005)

    def warm_up(self, jobs: Jobs, count: int = 50) -> None:
        """Have the workers run a few jobs, and delete their records."""
        jobs.fill([jobs.count.message(-1, 0) for _ in range(count)])
        self.wait_for_records(count)
        self.forget_records()

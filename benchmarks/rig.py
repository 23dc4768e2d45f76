"""What every question measures with: one server, real worker processes, and the records that their jobs leave.

In the flow: the runner makes one rig for all questions. Workers are `dramatiq` processes as an application runs them.
They are killed when a side is measured, since the server is emptied next; if this process dies, the kernel ends them.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
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
    """How much is measured; the figures of the first two say little."""

    SMALLEST = 0
    """Only that it works: the tests."""
    QUICK = 1
    """All questions in under a minute."""
    FULL = 2
    LONG = 3
    """A million jobs where memory over time is asked for."""


class Rig:
    """One server and a folder for records and logs."""

    def __init__(self, url: str, folder: Path, size: Size) -> None:
        self.url = url
        self.folder = folder
        self.size = size
        self.client = redis.Redis.from_url(url)

    def sized(self, smallest: int, quick: int, full: int, long: int | None = None) -> int:
        """The one of these that belongs to the size asked for."""
        return (smallest, quick, full, full if long is None else long)[self.size]

    def empty(self) -> None:
        """Drop everything on the server and all records; no worker may run."""
        self.client.flushdb()
        for path in self.folder.glob("*.records"):
            path.unlink()

    def forget_records(self) -> None:
        """Drop the records while workers write on."""
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
        """Worker processes of a side while the block runs; they boot while it begins.

        Args:
            side: Whose.
            processes: How many.
            threads: Of each.
            queues: What they consume.
            lanes: So many of the many queues (`Jobs.declare_lanes`) in place of these.
        """
        app = "bare" if side.startswith(BARE) else "gated"
        if lanes:
            app, queues = f"{app}_lanes", LANES[:lanes]
        of_dramatiq = ("dramatiq", f"benchmarks.apps.{app}:broker", "--processes", str(processes))
        with self.process(*of_dramatiq, "--threads", str(threads), "--queues", *queues):
            yield

    @contextmanager
    def process(self, module: str, *arguments: str) -> Generator[None]:
        """A Python module runs as a process while the block does."""
        environment = {**os.environ, SERVER_VARIABLE: self.url, FOLDER_VARIABLE: str(self.folder)}
        with (self.folder / "workers.log").open("ab") as log:
            group = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                cwd=ROOT,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
                preexec_fn=end_with_parent,
            )
        try:
            yield
        finally:
            # Not asked to stop, which takes seconds: nothing of what they hold is needed any more.
            os.killpg(group.pid, signal.SIGKILL)
            group.wait()

    def records(self) -> list[Record]:
        """What the jobs recorded, in the order in which they started."""
        return read_records(self.folder)

    def wait_for_records(self, count: int) -> list[Record]:
        """Wait until so many jobs have ended.

        Raises:
            TimeoutError: If they have not, long after any machine would have done them.
        """
        self.wait_until(lambda: count_records(self.folder) >= count, f"{count} jobs")
        return self.records()

    def wait_until(self, holds: Callable[[], bool], what: str) -> None:
        """Look every 5 ms whether a condition holds."""
        deadline = time.monotonic() + LONGEST_WAIT_SECONDS
        while not holds():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{what} were not done in {LONGEST_WAIT_SECONDS:g} s; see {self.folder}/workers.log")
            time.sleep(0.005)

    def warm_up(self, jobs: Jobs, count: int = 50) -> None:
        """Have the workers run a few jobs, and forget them."""
        jobs.fill([jobs.count.message(-1, 0) for _ in range(count)])
        self.wait_for_records(count)
        self.forget_records()

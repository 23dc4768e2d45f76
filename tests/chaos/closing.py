"""When no more faults are made: everything comes to its end in time, and nothing is left over."""

import time
from collections.abc import Callable
from typing import Final

import redis
from model.dump import Dump, read_dump
from model.invariants import Invariants, left_behind
from probing import probe_threads

from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.queue import ExecutionQueueService
from chaos.found import Found, Kind
from chaos.plan import LANES

SETTLING_SECONDS: Final = 180.0
"""For whatever waits: generous, since machines are slow; work that never ends misses any bound."""
LISTS: Final = ("", ".DQ")
"""Dramatiq's own queues of a lane, into which plain producers put theirs."""


class Closing:
    """The last look at one queue; its workers run on meanwhile."""

    def __init__(self, queue: ExecutionQueueService, found: Found, settling_seconds: float) -> None:
        self.seconds = 0.0
        """That it took until all had ended."""
        self._queue = queue
        self._client: redis.Redis = queue.scripts.client
        self._found = found
        self._settling_seconds = settling_seconds

    def wait_for_ends(self, go_on: Callable[[], object]) -> None:
        """Wait until nothing waits or runs, and each end is told.

        Args:
            go_on: Is called meanwhile, again and again.
        """
        began = time.monotonic()
        while (left := self._left()) and time.monotonic() - began < self._settling_seconds:
            go_on()
            time.sleep(0.2)
        self.seconds = time.monotonic() - began
        for each in left:
            self._found.add(Kind.NOT_ENDED, f"after {self._settling_seconds:.0f} s: {each}")

    def look(self, threads: int, longest_seconds: float) -> None:
        """What is left over, and whether all threads take work.

        Args:
            threads: Of all workers.
            longest_seconds: Then one that has not taken any is missing.
        """
        try:
            probe_threads(self._queue, LANES[0], threads, timeout_seconds=longest_seconds)
        except AssertionError as error:
            self._found.add(Kind.NO_THREAD, str(error))
        for name in self._queue.views.dead(limit=100_000):
            self._queue.drop(name)
        try:
            self._check(read_dump(self._client, self._queue.scripts.keys))
        except AssertionError as error:
            self._found.add(Kind.LEFT_OVER, str(error))

    def _check(self, dump: Dump) -> None:
        dump = Dump({key: entry for key, entry in dump.keys.items() if not key.startswith("lock:")})
        Invariants().check(dump, one_step=False)
        left = left_behind(dump)
        assert not left, f"keys without an owner: {sorted(left)}"

    def _left(self) -> list[str]:
        try:
            return [each for lane in LANES for each in self._left_in(lane)]
        except QueueUnavailable as error:
            return [str(error)]

    def _left_in(self, lane: str) -> list[str]:
        counts = {
            "executions": self._queue.views.lane_size(lane),
            "ends that are not told": self._queue.views.untold(lane),
            "of a plain producer's": sum(int(self._client.hlen(f"dramatiq:{lane}{each}.msgs")) for each in LISTS),  # type: ignore[arg-type]
        }
        return [f"{count} {what} in {lane}" for what, count in counts.items() if count]

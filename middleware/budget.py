"""The free threads of one worker process, shared by its lanes and its plain queues.

In the flow: a consumer takes as many permits as it may admit, and gives back those it did not use; whoever ends a
message gives its permit back, or passes it to the next execution that its release admitted. So a grant exists only
while a thread stands behind it. Permits live in memory: if the process dies, so do its threads.
"""

import threading
from collections import deque
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class _Waiter:
    queue_name: str
    turn: threading.Event = field(default_factory=threading.Event)
    given: bool = False


class Budget:
    """Permits, one a worker thread, given out first come, first served."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free = 0
        self._total = 0
        self._waiters: deque[_Waiter] = deque()

    @property
    def total(self) -> int:
        """How many threads the worker has; 0 while no worker runs here."""
        return self._total

    @property
    def free(self) -> int:
        """How many permits nobody holds."""
        return self._free

    def open(self, threads: int) -> None:
        """A worker with so many threads has started."""
        with self._lock:
            self._total = self._free = threads

    def take(self, queue_name: str, most: int, timeout_seconds: float) -> int:
        """Take what is free, up to `most`; wait for one if nothing is.

        Returns:
            How many were taken; 0 if none came free in time.
        """
        with self._lock:
            # A permit that comes free goes to the first waiter, so free permits mean that nobody waits.
            if self._free > 0:
                taken = min(most, self._free)
                self._free -= taken
                return taken
            waiter = _Waiter(queue_name)
            self._waiters.append(waiter)
        waiter.turn.wait(timeout_seconds)
        with self._lock:
            if waiter.given:
                extra = min(most - 1, self._free)
                self._free -= extra
                return 1 + extra
            self._waiters.remove(waiter)
            return 0

    def give(self, count: int = 1) -> None:
        """Give permits back: each to the first waiter, if there is one."""
        with self._lock:
            for _ in range(count):
                if self._waiters:
                    waiter = self._waiters.popleft()
                    waiter.given = True
                    waiter.turn.set()
                else:
                    self._free += 1

    def others_wait(self, queue_name: str) -> bool:
        """Whether the first waiter is of another queue: then a permit goes there rather than to this queue's next."""
        with self._lock:
            return bool(self._waiters) and self._waiters[0].queue_name != queue_name

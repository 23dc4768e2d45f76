"""The free threads of one worker process, shared by its lanes and its plain queues.

In the flow: a party takes as many permits as it may start messages, and gives back those it did not use; whoever ends a
message gives its permit back, or passes it to the next execution that its release admitted. All lanes together are one
party, all Dramatiq lists the other. So a grant exists only while a thread stands behind it. A permit that comes free
goes to the waiting party that holds the fewest, so that no saturated one starves another. Permits live in memory: if
the process dies, so do its threads.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

LANES: Final = "lanes"
LISTS: Final = "lists"


@dataclass(slots=True, eq=False)
class _Waiter:
    party: str
    turn: threading.Event = field(default_factory=threading.Event)
    given: bool = False


class Budget:
    """Permits, one a worker thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._left_over = threading.Condition(self._lock)
        self._total = 0
        self._held: Counter[str] = Counter()
        self._waiters: list[_Waiter] = []

    @property
    def total(self) -> int:
        """How many threads the worker has; 0 while no worker runs here."""
        return self._total

    @property
    def free(self) -> int:
        """How many permits nobody holds."""
        return self._total - self._held.total()

    def held(self, party: str) -> int:
        """How many permits a party holds."""
        return self._held[party]

    def open(self, threads: int) -> None:
        """A worker with so many threads has started; what an earlier one held is forgotten."""
        with self._lock:
            self._total = threads
            self._held.clear()

    def take(self, party: str, most: int, timeout_seconds: float) -> int:
        """Take what is free, up to `most`; wait for one if nothing is.

        Returns:
            How many were taken; 0 if none came free in time.
        """
        with self._lock:
            # A permit that comes free goes to a waiter, so free permits mean that nobody waits.
            if self.free > 0:
                return self._take(party, min(most, self.free))
            if timeout_seconds <= 0:
                return 0
            waiter = _Waiter(party)
            self._waiters.append(waiter)
        try:
            waiter.turn.wait(timeout_seconds)
        except BaseException:
            # The thread dies: a permit that is given to who waits no more would be lost for good.
            self._withdraw(waiter)
            raise
        with self._lock:
            if waiter.given:
                return 1 + self._take(party, max(0, min(most - 1, self.free)))
            self._waiters.remove(waiter)
            return 0

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.given:
                self._waiters.remove(waiter)
                return
        self.give(waiter.party)

    def wait_until_free(self, timeout_seconds: float) -> bool:
        """Wait until there is a permit that no party waits for, and leave it; False if there was none in time."""
        with self._left_over:
            return self._left_over.wait_for(lambda: self.free > 0, timeout_seconds)

    def give(self, party: str, count: int = 1) -> None:
        """Give permits back: each to the waiting party that holds the fewest, if one waits."""
        with self._lock:
            for _ in range(min(count, self._held[party])):
                self._held[party] -= 1
                if self._waiters and self.free > 0:
                    waiter = min(self._waiters, key=lambda each: self._held[each.party])
                    self._waiters.remove(waiter)
                    self._take(waiter.party, 1)
                    waiter.given = True
                    waiter.turn.set()
            if self.free > 0:
                self._left_over.notify()

    def passes_on(self, party: str) -> bool:
        """Whether a permit that this party frees goes to another, which waits and holds fewer."""
        with self._lock:
            return any(w.party != party and self._held[w.party] < self._held[party] for w in self._waiters)

    def _take(self, party: str, count: int) -> int:
        self._held[party] += count
        return count

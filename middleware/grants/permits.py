"""Permits: one for each thread of a worker process, shared between its lanes and its plain queues.

In the flow: there are two parties: all lanes together, and all Dramatiq lists. A party takes a permit for each message
that it may start, and gives unused permits back. When a message ends, its permit is given back, or passed to the next
execution that the settlement admitted. So a grant exists only while a thread stands behind it. A permit that becomes
free goes to the waiting party that holds the fewest, so that a saturated party does not starve the other. Permits live
in memory: if the process dies, so do its threads.
"""

import itertools
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from ...scheduler.transport.forks import anew_in_child

LANES: Final = "lanes"
LISTS: Final = "lists"


@dataclass(slots=True, eq=False)
class _Waiter:
    party: str
    in_hand: bool
    given: bool = False
    _turn: threading.Lock = field(default_factory=threading.Lock)
    """A lock, not an Event: an exception thrown into the thread that sets an Event may leave the Event's lock taken."""

    def __post_init__(self) -> None:
        self._turn.acquire()

    def wait(self, timeout_seconds: float) -> None:
        self._turn.acquire(timeout=timeout_seconds)

    def wake(self) -> None:
        self._turn.release()


class Permits:
    """The permits of one worker process, one for each thread. Safe to share between threads."""

    def __init__(self) -> None:
        self._total = 0
        self._held: Counter[str] = Counter()
        self._in_hand: Counter[str] = Counter()
        self._given_at: Counter[str] = Counter()
        self._numbers = itertools.count(1)
        self._begin_anew()
        anew_in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()
        self._left_over = threading.Condition(self._lock)
        self._waiters: list[_Waiter] = []

    @property
    def total(self) -> int:
        """How many permits there are: the worker's threads, or, where no worker runs, a consumer's prefetch."""
        return self._total

    @property
    def free(self) -> int:
        """How many permits nobody holds."""
        return self._total - self._held.total()

    def held(self, party: str) -> int:
        """How many permits a party holds."""
        return self._held[party]

    def open(self, threads: int) -> None:
        """Begin with the threads of a new worker, and forget the permits that an earlier one held."""
        with self._lock:
            self._total = threads
            self._held.clear()
            self._in_hand.clear()

    def take(self, party: str, most: int, timeout_seconds: float, *, in_hand: bool = False) -> int:
        """Take free permits, up to `most`; wait for one if none is free.

        Args:
            party: The party that takes them.
            most: How many at most.
            timeout_seconds: The longest wait.
            in_hand: No grant uses them until they are put down, so `correct` leaves them alone.

        Returns:
            How many were taken; 0 if none became free in time.
        """
        with self._lock:
            # A permit that becomes free goes to a waiter, so free permits mean that nobody waits.
            if self.free > 0:
                return self._take(party, min(most, self.free), in_hand)
            if timeout_seconds <= 0:
                return 0
            waiter = _Waiter(party, in_hand)
            self._waiters.append(waiter)
        try:
            waiter.wait(timeout_seconds)
        except BaseException:
            # This thread dies: a permit given to a waiter that waits no more would be lost for good.
            self._withdraw(waiter)
            raise
        with self._lock:
            if waiter.given:
                return 1 + self._take(party, max(0, min(most - 1, self.free)), in_hand)
            self._forget(waiter)
            return 0

    def _withdraw(self, waiter: _Waiter) -> None:
        with self._lock:
            if not waiter.given:
                self._forget(waiter)
                return
            self._in_hand[waiter.party] -= waiter.in_hand
        self.give(waiter.party)

    def _forget(self, waiter: _Waiter) -> None:
        # A thread that gives a permit may be interrupted after it has taken the waiter out of the list.
        if waiter in self._waiters:
            self._waiters.remove(waiter)

    def put_down(self, party: str, count: int) -> None:
        """Note that permits in hand are used by grants now, or by a call for grants."""
        with self._lock:
            self._in_hand[party] = max(0, self._in_hand[party] - count)

    def wait_until_free(self, timeout_seconds: float) -> bool:
        """Wait until a permit is free that no party waits for, without taking it; False if none was in time."""
        with self._left_over:
            return self._left_over.wait_for(lambda: self.free > 0, timeout_seconds)

    def give(self, party: str, count: int = 1) -> None:
        """Give permits back: each to the waiting party that holds the fewest, if one waits."""
        with self._lock:
            for _ in range(min(count, self._held[party])):
                self._held[party] -= 1
                if self._waiters and self.free > 0:
                    waiter = min(self._waiters, key=self._rank)
                    self._waiters.remove(waiter)
                    self._take(waiter.party, 1, waiter.in_hand)
                    self._given_at[waiter.party] = next(self._numbers)
                    waiter.given = True
                    waiter.wake()
            if self.free > 0:
                self._left_over.notify()

    def _rank(self, waiter: _Waiter) -> tuple[int, int]:
        # Among equals, the party whose last permit was given longest ago: a party may have many waiting threads.
        return self._held[waiter.party], self._given_at[waiter.party]

    def passed_on(self, party: str, most: int) -> int:
        """How many of `most` permits that a party frees would go to other waiting parties that hold fewer."""
        with self._lock:
            if not self._waiters:
                return 0
            held, passed = self._held.copy(), 0
            for waiter in self._waiters:
                if passed < most and waiter.party != party and held[waiter.party] < held[party]:
                    held[waiter.party] += 1
                    held[party] -= 1
                    passed += 1
            return passed

    def correct(self, party: str, held: int) -> None:
        """Correct the count of permits that a party's grants hold, if an interruption left it wrong."""
        with self._lock:
            missing = self._held[party] - self._in_hand[party] - held
            if missing < 0:
                self._held[party] -= missing
        if missing > 0:
            self.give(party, missing)

    def _take(self, party: str, count: int, in_hand: bool) -> int:
        self._held[party] += count
        if in_hand:
            self._in_hand[party] += count
        return count

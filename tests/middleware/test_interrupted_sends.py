"""Asynchronous exceptions in threads that send together: what was sent is there once, and nobody is stuck."""

import random
import threading
import time
from contextlib import suppress
from typing import Any

import pytest
import redis
from dramatiq import threading as dramatiq_threading
from dramatiq.middleware import Interrupt

from bandmaster import ExecutionQueueService
from bandmaster.middleware.grants.cancellation import forget_interrupt
from bandmaster.scheduler.engine.parking import Candidate
from waiting import GENEROUS_SECONDS

# A connection that a thread had in its hand when the exception struck is closed with it.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
    pytest.mark.usefixtures("threads_alternate"),
]

THREADS = 4
STRIKES = 1_000
LANE = "mail"


class Struck(Interrupt):
    """As a time limit or a shutdown throws one into a thread."""


class Sending(threading.Thread):
    """Sends one after the other, each under an id of its own, until it is told to stop."""

    def __init__(self, queue: ExecutionQueueService, number: int, stopped: threading.Event) -> None:
        super().__init__(daemon=True)
        self._queue = queue
        self.name = f"t{number}"
        self._stopped = stopped
        self._guard = threading.Lock()
        self._sends = False
        self.tried: list[str] = []
        self.sent: list[str] = []
        self.strikes = 0

    def strike(self) -> None:
        """Throw one in while it sends, at most one each time: a second would strike who handles the first."""
        raising: Any = dramatiq_threading
        with self._guard:
            if self._sends:
                self._sends = False
                raising.raise_thread_exception(self.ident, Struck)

    def run(self) -> None:
        while not self._stopped.is_set():
            self.tried.append(f"{self.name}-{len(self.tried)}")
            if self._send(self.tried[-1]):
                self.sent.append(self.tried[-1])
            else:
                self.strikes += 1

    def _send(self, name: str) -> bool:
        done = False
        try:
            try:
                self._sends = True
                self._queue.transitions.park(Candidate(name, LANE, 2, "send", message=b"x"))
                done = True
            finally:
                self._close()
        except Struck:
            self._close()
        return done

    def _close(self) -> None:
        is_closed = False
        while not is_closed:
            with suppress(Struck), self._guard:
                self._sends = False
                forget_interrupt()
                is_closed = True


def test_a_thousand_exceptions_in_leaders_and_followers_of_sends(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    stopped = threading.Event()
    threads = [Sending(queue, number, stopped) for number in range(THREADS)]
    draw = random.Random(18)
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + 300
    while sum(thread.strikes for thread in threads) < STRIKES and time.monotonic() < deadline:
        draw.choice(threads).strike()
        time.sleep(draw.random() * 0.001)
    stopped.set()
    for thread in threads:
        thread.join(GENEROUS_SECONDS)
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    assert sum(thread.strikes for thread in threads) >= STRIKES
    # One that was interrupted may have been sent or not; what is said to be sent is, and nothing else.
    parked = queue.on(LANE).views.pending(limit=1_000_000)
    assert len(parked) == len(set(parked))
    assert {name for thread in threads for name in thread.sent} <= set(parked)
    assert set(parked) <= {name for thread in threads for name in thread.tried}
    # Each thread's own order, which is the order of its sends.
    for thread in threads:
        own = [name for name in parked if name.startswith(f"{thread.name}-")]
        assert own == sorted(own, key=thread.tried.index)
    queue.transitions.park(Candidate("after", LANE, 2, "send", message=b"x"))

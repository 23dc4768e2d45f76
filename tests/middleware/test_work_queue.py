"""`WorkQueue`: whatever is thrown into a thread that puts something in, the queue stays whole."""

import threading
import time
from contextlib import suppress
from typing import Any

import pytest
from dramatiq import threading as dramatiq_threading
from dramatiq.middleware import Interrupt
from working import running

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants.cancellation import forget_interrupt
from bandmaster.middleware.worker.work_queue import WorkQueue

STRIKES = 1_000


class Struck(Interrupt):
    """As one that is thrown into a thread."""


class Putting(threading.Thread):
    """Puts numbers into a queue until it was struck often enough."""

    def __init__(self, queue: "WorkQueue[int]") -> None:
        super().__init__(daemon=True)
        self.queue = queue
        self.strikes = 0
        self.is_putting = False
        self.guard = threading.Lock()

    def run(self) -> None:
        number = 0
        while self.strikes < STRIKES:
            number += 1
            self._put(number)

    def _put(self, number: int) -> None:
        try:
            try:
                self.is_putting = True
                self.queue.put(number)
            finally:
                self._close()
        except Struck:
            self.strikes += 1
            self._close()

    def strike(self) -> None:
        """Throw one in while it puts, at most one each time: a second would strike who handles the first."""
        raising: Any = dramatiq_threading
        with self.guard:
            if self.is_putting:
                self.is_putting = False
                raising.raise_thread_exception(self.ident, Struck)

    def _close(self) -> None:
        is_closed = False
        while not is_closed:
            with suppress(Struck), self.guard:
                self.is_putting = False
                forget_interrupt()
                is_closed = True


@pytest.mark.usefixtures("threads_alternate")
def test_whatever_strikes_who_puts_leaves_the_queue_whole() -> None:
    queue: WorkQueue[int] = WorkQueue()
    thread = Putting(queue)
    thread.start()
    deadline = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < deadline:
        thread.strike()
        time.sleep(0)
    assert not thread.is_alive(), f"it stands still after {thread.strikes} strikes"
    assert queue.unfinished_tasks == queue.qsize() > 0
    numbers = [queue.get_nowait() for _ in range(queue.qsize())]
    assert numbers == sorted(set(numbers))


def test_a_worker_of_lanes_has_one(broker: BandedRedisBroker) -> None:
    with running(broker) as worker:
        assert isinstance(worker.work_queue, WorkQueue)
        assert all(thread.work_queue is worker.work_queue for thread in worker.workers)

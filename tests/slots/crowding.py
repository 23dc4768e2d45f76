"""Threads that wait for slots of one name, one after the other, and what is there of them in Redis."""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

from bandmaster import BandmasterError, ExecutionQueueService, Slots
from waiting import GENEROUS_SECONDS, wait_until

NAME = "core.http.get"


def in_queue(queue: ExecutionQueueService, name: str = NAME) -> int:
    """How many wait for it or hold it."""
    found = queue.action_statistics(name)
    return found.queue_length + found.active_count


def is_free(queue: ExecutionQueueService, name: str = NAME) -> bool:
    """Whether nobody waits for it or holds it."""
    return in_queue(queue, name) == 0


def wait_for_one_more(queue: ExecutionQueueService, begin: Callable[[], object], name: str = NAME) -> None:
    """Begin something, and return when the queue has it."""
    before = in_queue(queue, name)
    begin()
    wait_until(lambda: in_queue(queue, name) == before + 1, what="one more in the queue")


class Crowd:
    """Threads that wait for slots, hold them until they are told to leave, and note in which order they got them."""

    def __init__(self, slots: Slots, queue: ExecutionQueueService, limit: int | None, name: str = NAME) -> None:
        self._slots = slots
        self._queue = queue
        self._limit = limit
        self._name = name
        self._leave: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self.order: list[str] = []
        """Who got a slot, in order."""
        self.errors: list[BandmasterError] = []

    def enter(self, who: str, *, holds: bool = True) -> None:
        """Have one wait, behind all that wait already; with `holds` it keeps its slot until it is told to leave."""
        leave = self._leave[who] = threading.Event()
        if not holds:
            leave.set()
        thread = threading.Thread(target=self._take, args=(who, leave))
        self._threads.append(thread)
        wait_for_one_more(self._queue, thread.start, self._name)

    def leave(self, *who: str) -> None:
        """Have these give their slots back, or not keep them."""
        for each in who:
            self._leave[each].set()

    def has_got(self, *who: str) -> bool:
        """Whether these got slots, in this order, and no others."""
        return self.order == list(who)

    def end(self) -> None:
        """All leave."""
        self.leave(*self._leave)
        for thread in self._threads:
            thread.join(GENEROUS_SECONDS)
            assert not thread.is_alive()

    def _take(self, who: str, leave: threading.Event) -> None:
        try:
            with self._slots.slot(self._name, limit=self._limit, timeout=60):
                self.order.append(who)
                assert leave.wait(60)
        except BandmasterError as error:
            self.errors.append(error)


@contextmanager
def crowd(slots: Slots, queue: ExecutionQueueService, limit: int | None, name: str = NAME) -> Generator[Crowd]:
    """A crowd, all of which leave at the end."""
    made = Crowd(slots, queue, limit, name)
    try:
        yield made
    finally:
        made.end()

"""Messages that a process has fetched from its Dramatiq lists and not yet acknowledged, list by list.

In the flow: a consumer fetches and sorts; what is gated is parked (`unparked.py`), the rest waits for a thread, the
most urgent of all lists first, by the actors' own `priority=` as Dramatiq has it. It outlives its consumer, which
Dramatiq replaces after errors; if the process dies, Dramatiq's own heartbeat requeues it.
"""

import itertools
import threading
from collections import deque
from collections.abc import Callable, Iterable
from heapq import heapify, heappop, heappush
from typing import Any, Final, cast

from dramatiq import Broker, Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.common import q_name

from .unparked import Unparked


class ListedMessage(MessageProxy):
    """A message of an ungated actor, from a list."""

    def __init__(self, message: "Message[Any]", queue_name: str) -> None:
        super().__init__(message)
        self.list_name = queue_name
        self.has_permit = False
        self.thread_id = 0


_Ranked = tuple[int, int, ListedMessage]
"""The actor's priority and when it came, which no two have in common."""


class Backlog:
    """What was fetched from one list."""

    def __init__(self, queue_name: str, lock: threading.Lock, numbers: "itertools.count[int]") -> None:
        self.unparked: Final = Unparked(is_delayed=queue_name != q_name(queue_name))
        self.ready: deque[MessageProxy] = deque()
        """What may start, granted or listed, and is about to be passed to a thread."""
        self.pointed_to = threading.Event()
        """Something was put into the list, and a token said so."""
        self.outstanding: dict[int, ListedMessage] = {}
        """All that are to be acknowledged, by identity."""
        self._queue_name = queue_name
        self._lock = lock
        self._numbers = numbers
        self._waiting: list[_Ranked] = []

    def sort(self, messages: "Iterable[Message[Any]]", gated: Iterable[str], broker: Broker) -> None:
        """Take in what was fetched: what is gated is to be parked, the rest waits for a thread.

        Args:
            messages: In the order of their list.
            gated: The names of the gated actors.
            broker: Knows the actors' priorities.
        """
        actors: dict[str, Any] = cast("Any", broker).actors
        for message in messages:
            if message.actor_name in gated:
                self.unparked.add(message)
                continue
            listed = ListedMessage(message, self._queue_name)
            self.outstanding[id(listed)] = listed
            if "eta" in message.options:
                self.ready.append(listed)  # not for a thread: Dramatiq's consumer delays it
                continue
            priority = getattr(actors.get(message.actor_name), "priority", 0)
            with self._lock:
                heappush(self._waiting, (priority, next(self._numbers), listed))

    @property
    def waiting(self) -> int:
        """How many have no permit yet."""
        return len(self._waiting)

    @property
    def first(self) -> _Ranked | None:
        """The most urgent one of them. The lock is held."""
        return self._waiting[0] if self._waiting else None

    def pop(self) -> ListedMessage:
        """Take that one out. The lock is held."""
        return heappop(self._waiting)[2]

    @property
    def known(self) -> list[MessageProxy]:
        """All of it."""
        return [*list(self.outstanding.values()), *self.unparked.proxies]

    def put_back(self, consumer: Consumer) -> None:
        """Requeue what has no permit.

        Raises:
            ConnectionClosed: If Redis did not answer; it is kept.
        """
        with self._lock:
            ranked, self._waiting = self._waiting, []
        try:
            consumer.requeue([*(message for _, _, message in sorted(ranked)), *self.unparked.proxies])
        except BaseException:
            with self._lock:
                self._waiting += ranked
                heapify(self._waiting)
            raise
        for _, _, message in ranked:
            self.outstanding.pop(id(message), None)
        self.unparked.clear()


class Backlogs:
    """Those of all lists of a process. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._by_queue: dict[str, Backlog] = {}

    def of(self, queue_name: str) -> Backlog:
        """That of one queue."""
        return self._by_queue.setdefault(queue_name, Backlog(queue_name, self._lock, self._numbers))

    def all(self) -> list[Backlog]:
        """Every one."""
        return list(self._by_queue.values())

    def clear(self) -> None:
        """Forget what an earlier worker had fetched: it was put back."""
        self._by_queue.clear()

    def pop(self, may_start: Callable[[str], bool]) -> ListedMessage | None:
        """Take out the most urgent message without a permit, of lists from which something may be started."""
        with self._lock:
            best: tuple[_Ranked, Backlog] | None = None
            for queue_name, backlog in list(self._by_queue.items()):
                first = backlog.first
                if first is not None and (best is None or first < best[0]) and may_start(queue_name):
                    best = first, backlog
            return None if best is None else best[1].pop()

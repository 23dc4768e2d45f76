"""The backlog: messages that a process has fetched from its Dramatiq lists and not yet acknowledged, list by list.

In the flow: a consumer fetches and sorts messages. Gated ones are parked (`unparked.py`); the others wait for a thread,
the most urgent of all lists first, by the actors' `priority=` as in Dramatiq. A backlog outlives its consumer, which
Dramatiq replaces after errors. If the process dies, Dramatiq's own heartbeat requeues the messages.
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
"""A message with its actor's priority and its number by arrival, which no two messages share."""


class Backlog:
    """The messages fetched from one list."""

    def __init__(self, queue_name: str, lock: threading.Lock, numbers: "itertools.count[int]") -> None:
        self.unparked: Final = Unparked(is_delayed=queue_name != q_name(queue_name))
        self.ready: deque[MessageProxy] = deque()
        """Messages that may start, granted or listed, and are about to be passed to a thread."""
        self.pointed_to = threading.Event()
        """Set when a wake token says that the list has a new message."""
        self.outstanding: dict[int, ListedMessage] = {}
        """All messages that are not acknowledged yet, by `id()`."""
        self._queue_name = queue_name
        self._lock = lock
        self._numbers = numbers
        self._waiting: list[_Ranked] = []

    def sort(self, messages: "Iterable[Message[Any]]", gated: Iterable[str], broker: Broker) -> None:
        """Add fetched messages: gated ones are to be parked, the others wait for a thread.

        Args:
            messages: The messages, in the order of their list.
            gated: The names of the gated actors.
            broker: The broker, which knows the actors' priorities.
        """
        actors: dict[str, Any] = cast("Any", broker).actors
        for message in messages:
            if message.actor_name in gated:
                self.unparked.add(message)
                continue
            listed = ListedMessage(message, self._queue_name)
            self.outstanding[id(listed)] = listed
            if "eta" in message.options:
                self.ready.append(listed)  # it needs no thread yet: Dramatiq's consumer thread delays it
                continue
            priority = getattr(actors.get(message.actor_name), "priority", 0)
            with self._lock:
                heappush(self._waiting, (priority, next(self._numbers), listed))

    @property
    def waiting(self) -> int:
        """How many messages have no permit yet."""
        return len(self._waiting)

    @property
    def first(self) -> _Ranked | None:
        """The most urgent message without a permit. The caller holds the lock."""
        return self._waiting[0] if self._waiting else None

    def pop(self) -> ListedMessage:
        """Take the most urgent message out. The caller holds the lock."""
        return heappop(self._waiting)[2]

    @property
    def known(self) -> list[MessageProxy]:
        """All messages of this backlog."""
        return [*list(self.outstanding.values()), *self.unparked.proxies]

    def put_back(self, consumer: Consumer) -> None:
        """Requeue the messages without a permit, and the unparked ones.

        Raises:
            ConnectionClosed: If Redis did not answer; the messages are kept.
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
    """The backlogs of all lists of a process. Safe to share between threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._by_queue: dict[str, Backlog] = {}

    def of(self, queue_name: str) -> Backlog:
        """Return the backlog of one queue."""
        return self._by_queue.setdefault(queue_name, Backlog(queue_name, self._lock, self._numbers))

    def all(self) -> list[Backlog]:
        """Return all backlogs."""
        return list(self._by_queue.values())

    def clear(self) -> None:
        """Forget the messages that an earlier worker had fetched: they were put back."""
        self._by_queue.clear()

    def pop(self, may_start: Callable[[str], bool]) -> ListedMessage | None:
        """Take out the most urgent message without a permit, of the lists whose messages may start."""
        with self._lock:
            best: tuple[_Ranked, Backlog] | None = None
            for queue_name, backlog in list(self._by_queue.items()):
                first = backlog.first
                if first is not None and (best is None or first < best[0]) and may_start(queue_name):
                    best = first, backlog
            return None if best is None else best[1].pop()

"""The Dramatiq lists of a worker that has lanes: what was fetched from them, and what is parked instead of run.

In the flow: a lane's queue, or any other of the same worker, may be filled by plain producers. What is gated begins to
wait as if it had been sent here, also what lies in a delay queue; what is not is run. What was fetched outlives its
consumer, which Dramatiq replaces after errors; if the process dies, Dramatiq's own heartbeat requeues it.
"""

import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import structlog
from dramatiq import Message, MessageProxy
from dramatiq.brokers.redis import _RedisConsumer  # pyright: ignore[reportPrivateUsage]  # `consumer_class` is public
from dramatiq.errors import ConnectionClosed, DecodeError

from ..scheduler.errors import InvalidRequest, QueueRejected
from .delivery import decoded, plain_message
from .errors import UNAVAILABLE

if TYPE_CHECKING:
    from .broker import BandedRedisBroker

log = structlog.get_logger(__name__)
REFUSED_PAUSE_SECONDS: Final = 1.0
"""Before a message that found the queue full is tried again; it stays where it is until then."""


class ListConsumer(_RedisConsumer):
    """Dramatiq's own, but every failure to reach Redis is one after which Dramatiq tries again.

    redis-py's TimeoutError is no ConnectionError, and `requeue` let both through: a consumer thread that closed while
    Redis was away died of it.
    """

    broker: "BandedRedisBroker"
    queue_name: str
    prefetch: int
    message_cache: list[bytes]

    def __init__(self, broker: "BandedRedisBroker", queue_name: str, prefetch: int, timeout_ms: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)

    def __next__(self) -> MessageProxy | None:
        try:
            return super().__next__()
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def ack(self, message: MessageProxy) -> None:
        """Take the message off."""
        try:
            super().ack(message)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def nack(self, message: MessageProxy) -> None:
        """Move the message to the dead-letter queue."""
        try:
            super().nack(message)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Put messages back."""
        try:
            super().requeue(messages)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def fetch(self, count: int) -> "list[Message[Any]]":
        """Up to so many messages; one that cannot be read stays fetched, and is looked at by the next process."""
        messages: list[Message[Any]] = []
        fetched: list[bytes | None] = self.broker.command("fetch", self.queue_name, count)
        for data in fetched:
            try:
                messages += [] if data is None else [decoded(data)]
            except DecodeError:
                log.error("message_unreadable", queue=self.queue_name)
        return messages

    def recover(self, known: Iterable[MessageProxy]) -> None:
        """Put back what this process fetched and does not know: the reply was lost, or it was dropped with an error."""
        acks = f"{self.broker.namespace}:__acks__.{self.broker.broker_id}.{self.queue_name}"
        fetched: set[bytes] = self.broker.plain_client.smembers(acks)
        orphans = {each.decode() for each in fetched} - {m.options["redis_message_id"] for m in known}
        if orphans:
            log.warning("messages_recovered", queue=self.queue_name, count=len(orphans))
            self.broker.command("requeue", self.queue_name, *orphans)


class ListedMessage(MessageProxy):
    """A message of an ungated actor, from a list."""

    def __init__(self, message: "Message[Any]", queue_name: str) -> None:
        super().__init__(message)
        self.list_name = queue_name
        self.has_permit = False
        self.thread_id = 0


class Backlog:
    """What a process has fetched from one list and not yet acknowledged."""

    def __init__(self, queue_name: str) -> None:
        self.party: Final = f"{queue_name}/list"
        """Who holds the permits of its messages. No queue's name has a slash."""
        self.waiting: deque[ListedMessage] = deque()
        """Without a permit yet."""
        self.ready: deque[MessageProxy] = deque()
        """What may start, granted or listed, and is about to be passed to a thread."""
        self.outstanding: dict[int, ListedMessage] = {}
        """All that are to be acknowledged, by identity."""
        self._queue_name = queue_name
        self._unparked: deque[Message[Any]] = deque()
        self._park_after = 0.0

    def sort(self, messages: "Iterable[Message[Any]]", gated: Iterable[str]) -> None:
        """Take in what was fetched: what is gated is to be parked, the rest waits for a thread."""
        for message in messages:
            if message.actor_name in gated:
                self._unparked.append(message)
            else:
                listed = ListedMessage(message, self._queue_name)
                self.outstanding[id(listed)] = listed
                self.waiting.append(listed)

    @property
    def known(self) -> list[MessageProxy]:
        """All of it."""
        return [*self.outstanding.values(), *map(MessageProxy, self._unparked)]

    def park(self, consumer: ListConsumer) -> None:
        """Park what is gated, and take it off its list.

        Raises:
            QueueUnavailable: If Redis did not answer; what was not parked is kept for the next time.
            ConnectionClosed: Likewise.
        """
        if time.monotonic() < self._park_after:
            return
        for _ in range(len(self._unparked)):
            message = self._unparked[0]
            proxy = MessageProxy(message)
            try:
                eta = message.options.get("eta")
                delay_ms = max(0.0, eta - time.time() * 1000) if isinstance(eta, int | float) else None
                consumer.broker.bands.park_listed(message, delay_ms)
            except InvalidRequest as error:
                log.error("message_rejected", message_id=message.message_id, actor=message.actor_name, error=str(error))
                consumer.nack(proxy)
            except QueueRejected as error:
                # Full: its producer has long gone on, so it waits here until there is room.
                log.warning("message_deferred", message_id=message.message_id, code=error.code)
                self._park_after = time.monotonic() + REFUSED_PAUSE_SECONDS
                self._unparked.rotate(-1)
                continue
            else:
                consumer.ack(proxy)
            self._unparked.popleft()

    def put_back(self, consumer: ListConsumer) -> None:
        """Requeue what has no permit.

        Raises:
            ConnectionClosed: If Redis did not answer; it is kept.
        """
        consumer.requeue([*self.waiting, *map(MessageProxy, self._unparked)])
        for message in self.waiting:
            self.outstanding.pop(id(message), None)
        self.waiting.clear()
        self._unparked.clear()


class DelayConsumer(ListConsumer):
    """Consumes a delay queue: what is gated goes to the scheduled set, the rest waits in memory as Dramatiq has it."""

    def __init__(
        self, broker: "BandedRedisBroker", queue_name: str, prefetch: int, timeout_ms: int, *, is_new: bool
    ) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)
        self._backlog = broker.process.backlog(queue_name)
        self._recovers = not is_new

    def __next__(self) -> MessageProxy | None:
        gated = self.broker.bands.gated
        self.broker.process.progress.note()
        try:
            if self._recovers:
                self.recover(self._backlog.known)
                self._recovers = False
            self._backlog.park(self)
            message = super().__next__()
            if message is None or message.actor_name not in gated:
                return message
            self._backlog.sort([plain_message(message)], gated)
            self._backlog.park(self)
            return None
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def close(self) -> None:
        """What was to be parked goes back; but a consumer that takes this one's place after an error has it."""
        if not self.broker.process.has_worker or self.broker.process.is_halted(self.queue_name):
            self._backlog.put_back(self)
        super().close()

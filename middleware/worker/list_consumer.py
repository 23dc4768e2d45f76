"""Consumes Dramatiq's lists and delay queues in a worker that has lanes.

In the flow: plain producers may put messages into a lane's queue, or any other queue of the worker. A gated message is
parked as if it had been sent here, even from a delay queue; an ungated one runs. If the process dies, Dramatiq's own
heartbeat requeues the messages that it had fetched.
"""

from collections.abc import Iterable
from typing import Any

from dramatiq import Message, MessageProxy
from dramatiq.brokers.redis import _RedisConsumer  # pyright: ignore[reportPrivateUsage]  # `consumer_class` is public
from dramatiq.errors import ConnectionClosed, DecodeError

from ...configs.logger import Logger
from ..errors import UNAVAILABLE
from ..intake.envelope import decoded, plain_message
from .lane_broker import LaneBroker
from .unparked import Unparked

log = Logger(__name__)


class ListConsumer(_RedisConsumer):
    """Dramatiq's consumer, but every failure to reach Redis is raised as an error after which Dramatiq tries again.

    redis-py's TimeoutError is not a ConnectionError, and Dramatiq's `requeue` catches neither: a consumer thread that
    closed while Redis was away would die.
    """

    broker: LaneBroker
    queue_name: str
    prefetch: int
    message_cache: list[bytes]

    def __init__(self, broker: LaneBroker, queue_name: str, prefetch: int, timeout_ms: int) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)

    def __next__(self) -> MessageProxy | None:
        try:
            return super().__next__()
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def ack(self, message: MessageProxy) -> None:
        """Take the message off its list."""
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
        """Put messages back into their list."""
        try:
            super().requeue(messages)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def fetch(self, count: int) -> "list[Message[Any]]":
        """Fetch up to `count` messages; an unreadable one stays fetched, and goes to the next process."""
        messages: list[Message[Any]] = []
        fetched: list[bytes | None] = self.broker.command("fetch", self.queue_name, count)
        for data in fetched:
            try:
                messages += [] if data is None else [decoded(data)]
            except DecodeError:
                log.error("message_unreadable", queue=self.queue_name)
        return messages

    def park(self, unparked: Unparked) -> None:
        """Park gated messages, and take them off the list.

        Raises:
            QueueUnavailable: If Redis did not answer; messages that were not parked are kept for the next time.
            ConnectionClosed: Likewise.
        """
        if unparked:
            unparked.park(self, self.broker.bands.gated, self.broker.bands.listed, self.broker.queue.views)

    def recover(self, known: Iterable[MessageProxy]) -> bool:
        """Put back messages that this process fetched and does not know: a reply was lost, or an error dropped them.

        Returns:
            Whether it looked for them; False if this consumer got no turn.
        """
        with self.broker.turn(self.queue_name) as has_turn:
            if has_turn:
                acks = f"{self.broker.namespace}:__acks__.{self.broker.broker_id}.{self.queue_name}"
                fetched: set[bytes] = self.broker.plain_client.smembers(acks)
                orphans = {each.decode() for each in fetched} - {m.options.get("redis_message_id") for m in known}
                if orphans:
                    log.warning("messages_recovered", queue=self.queue_name, count=len(orphans))
                    self.broker.command("requeue", self.queue_name, *orphans)
            return has_turn


class DelayConsumer(ListConsumer):
    """Consumes a delay queue: gated messages go to the scheduled set, the others wait in memory as in Dramatiq."""

    def __init__(self, broker: LaneBroker, queue_name: str, prefetch: int, timeout_ms: int, *, is_new: bool) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)
        self._backlog = broker.process.backlog(queue_name)
        self._recovers = not is_new

    def __next__(self) -> MessageProxy | None:
        self.broker.process.progress.note()
        try:
            self._recovers = self._recovers and not self.recover(self._backlog.known)
            self.park(self._backlog.unparked)
            message = super().__next__()
            if message is None or message.actor_name not in self.broker.bands.gated:
                return message
            self._backlog.unparked.add(plain_message(message))
            self.park(self._backlog.unparked)
            return None
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def close(self) -> None:
        """Put unparked messages back, unless another consumer takes over the backlog after an error."""
        if not self.broker.process.has_worker or self.broker.process.is_halted(self.queue_name):
            self._backlog.put_back(self)
        super().close()

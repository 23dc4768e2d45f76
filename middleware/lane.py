"""The consumer of one queue in a worker process that has lanes: pulls its lane, and shares the threads with the rest.

In the flow: asks for as many executions as there are free threads, then sits on the lane's wake list, for a second at
most, so that a lost token costs no more. A queue may also hold ungated actors and messages that plain producers pushed:
its Dramatiq list is looked at too; what is gated there is parked, what is not is run. If the process dies here, what it
was granted is reaped, and what it fetched from the list is requeued by Dramatiq's own heartbeat.
"""

import time
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import redis
import structlog
from dramatiq import Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.common import compute_backoff
from dramatiq.errors import ConnectionClosed

from ..scheduler.errors import DuplicateExecution, QueueRejected, QueueUnavailable
from .delivery import as_sent
from .held import GrantedMessage

if TYPE_CHECKING:
    from .broker import BandedRedisBroker

log = structlog.get_logger(__name__)
LONGEST_WAIT_SECONDS: Final = 1.0
SHORTEST_WAIT_SECONDS: Final = 0.005
LIST_INTERVAL_SECONDS: Final = 1.0
"""How often a lane's Dramatiq list is looked at while nothing points to it; our own producers push a wake token."""

UNAVAILABLE: Final = (redis.ConnectionError, redis.TimeoutError, QueueUnavailable)


class ListedMessage(MessageProxy):
    """A message of an ungated actor, from a Dramatiq list, for which a permit was taken."""


class LaneConsumer(Consumer):
    """Consumes one queue, lane and list together."""

    def __init__(self, broker: "BandedRedisBroker", queue_name: str, plain: Consumer, prefetch: int, timeout_ms: int) -> None:
        self._broker = broker
        self._process = broker.process
        self._queue_name = queue_name
        self._plain = plain
        self._prefetch = prefetch
        self._timeout_seconds = timeout_ms / 1000
        self._ready: deque[MessageProxy] = deque()
        self._wait_ms: int | None = None
        self._list_due = 0.0
        self._misses = 0

    @property
    def _is_lane(self) -> bool:
        return self._queue_name in self._broker.bands.lanes

    def __next__(self) -> MessageProxy | None:
        if not self._broker.bands.lanes or (self._process.budget.total == 0 and not self._is_lane):
            return next(self._plain)
        if self._ready:
            return self._ready.popleft()
        try:
            return self._next()
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def _next(self) -> MessageProxy | None:
        wait_seconds = min(LONGEST_WAIT_SECONDS, self._timeout_seconds)
        if self._process.is_halted(self._queue_name):
            self._process.hand_back(self._process.held.take_unbegun(self._queue_name))
            time.sleep(min(wait_seconds, 0.1))
            return None
        budget = self._process.budget
        if not budget.total:
            budget.open(self._prefetch)  # consumed without a worker: its own prefetch is the budget
        taken = budget.take(self._queue_name, max(1, budget.total), wait_seconds)
        if not taken:
            return None
        pulled: list[MessageProxy] = []
        try:
            pulled = self._pull(taken)
        finally:
            budget.give(taken - len(pulled))
        if not pulled:
            self._idle(wait_seconds)
            return None
        self._misses = 0
        self._ready.extend(pulled)
        return self._ready.popleft()

    def _pull(self, count: int) -> list[MessageProxy]:
        pulled: list[MessageProxy] = []
        if self._is_lane:
            granted, self._wait_ms = self._process.admit(self._queue_name, count)
            pulled += granted
        if len(pulled) < count and (not pulled or time.monotonic() >= self._list_due):
            listed = self._fetch_list(count - len(pulled))
            self._list_due = 0.0 if listed else time.monotonic() + LIST_INTERVAL_SECONDS
            pulled += listed
        return pulled

    def _fetch_list(self, count: int) -> list[MessageProxy]:
        listed: list[MessageProxy] = []
        for data in self._broker.do_fetch(self._queue_name, count):
            if data is None:
                continue
            message = Message.decode(data)
            if message.actor_name in self._broker.bands.gated:
                self._park_listed(message)
            else:
                listed.append(ListedMessage(message))
        return listed

    def _park_listed(self, message: "Message[object]") -> None:
        """A plain producer pushed it: it begins to wait now, and leaves the list."""
        proxy = MessageProxy(message)
        try:
            self._broker.emit_before("enqueue", as_sent(message), None)
        except DuplicateExecution:
            pass  # it was parked before a crash between park and ack
        except QueueRejected as error:
            log.error("message_rejected", message_id=message.message_id, actor=message.actor_name, error=str(error))
            self._plain.nack(proxy)
            return
        self._plain.ack(proxy)

    def _idle(self, wait_seconds: float) -> None:
        if not self._is_lane:
            self._misses, backoff_ms = compute_backoff(self._misses, max_backoff=int(wait_seconds * 1000))
            time.sleep(backoff_ms / 1000)
            return
        if self._wait_ms is not None:
            wait_seconds = min(wait_seconds, max(SHORTEST_WAIT_SECONDS, self._wait_ms / 1000))
        self._broker.wait_for_wake(self._queue_name, wait_seconds)

    def ack(self, message: MessageProxy) -> None:
        """Settle the message, or take it off its list."""
        self._end(message, failed=False)

    def nack(self, message: MessageProxy) -> None:
        """Settle the message as failed, or move it to its dead-letter queue."""
        self._end(message, failed=True)

    def _end(self, message: MessageProxy, *, failed: bool) -> None:
        if isinstance(message, GrantedMessage):
            try:
                self._process.settle(self._broker, message, failed=failed)
            except UNAVAILABLE as error:
                raise ConnectionClosed(error) from None
            return
        try:
            (self._plain.nack if failed else self._plain.ack)(message)
        except redis.TimeoutError as error:
            raise ConnectionClosed(error) from None
        if isinstance(message, ListedMessage):
            self._process.budget.give()

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Hand back what was not begun."""
        messages = list(messages)
        self._process.hand_back_messages(messages)
        listed = [message for message in messages if not isinstance(message, GrantedMessage)]
        try:
            self._plain.requeue(listed)
        except redis.TimeoutError as error:
            raise ConnectionClosed(error) from None
        self._process.budget.give(sum(isinstance(message, ListedMessage) for message in listed))

    def close(self) -> None:
        """Hand back what was fetched and not yet passed to a thread."""
        messages = list(self._ready)
        self._ready.clear()
        self.requeue(messages)
        self._plain.close()

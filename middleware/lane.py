"""The consumer of one queue in a worker process that has lanes: pulls its lane, and shares the threads with the rest.

In the flow: asks for as many executions as there are free threads, then sits on the lane's wake list, for a second at
most, so that a lost token costs no more. A queue may also hold ungated actors and messages that plain producers pushed:
its Dramatiq list is looked at too, in turn. If the process dies here, what it was granted is reaped, and what it
fetched from the list is requeued by Dramatiq's own heartbeat.
"""

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from dramatiq import MessageProxy
from dramatiq.common import compute_backoff
from dramatiq.errors import ConnectionClosed

from .errors import UNAVAILABLE
from .held import GrantedMessage
from .lists import ListConsumer, ListedMessage

if TYPE_CHECKING:
    from .broker import BandedRedisBroker

LONGEST_WAIT_SECONDS: Final = 1.0
SHORTEST_WAIT_SECONDS: Final = 0.005
HALTED_PAUSE_SECONDS: Final = 0.1
LIST_INTERVAL_SECONDS: Final = 1.0
"""How often a lane's Dramatiq list is looked at while nothing points to it; our own producers push a wake token."""
LIST_TOKEN: Final = b"list"
"""On a lane's wake list, points to its Dramatiq list; the scripts' tokens point to the lane alone."""


class LaneConsumer(ListConsumer):
    """Consumes one queue, lane and list together."""

    def __init__(
        self, broker: "BandedRedisBroker", queue_name: str, prefetch: int, timeout_ms: int, *, is_new: bool
    ) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)
        self._process = broker.process
        self._wait_seconds = max(SHORTEST_WAIT_SECONDS, min(LONGEST_WAIT_SECONDS, timeout_ms / 1000))
        self._backlog = broker.process.backlog(queue_name)
        self._recovers = not is_new
        self._ready = self._backlog.ready
        self._list_due = 0.0
        self._list_next = False
        self._idle_rounds = 0
        self._token: bytes | None = None
        self._rests_until = 0.0

    @property
    def _is_lane(self) -> bool:
        return self.queue_name in self.broker.bands.lanes

    @property
    def _is_shared(self) -> bool:
        # Without lanes in this process, a queue is consumed as Dramatiq does it.
        return bool(self.broker.bands.lanes) and (self._is_lane or self._process.has_worker)

    def __next__(self) -> MessageProxy | None:
        self._process.progress.note()
        if not self._is_shared or self.message_cache:
            return super().__next__()
        try:
            return self._next()
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None

    def _next(self) -> MessageProxy | None:
        if self._process.is_halted(self.queue_name):
            self._put_back()
            time.sleep(min(self._wait_seconds, HALTED_PAUSE_SECONDS))
            return None
        if self._ready:
            return self._ready.popleft()
        self._process.look_after(self.prefetch)
        token, self._token = self._token, None
        if token not in (None, LIST_TOKEN) and time.monotonic() < self._list_due:
            return self._start_admitted()  # what it points to comes first, the list right after
        if token == LIST_TOKEN:
            self._list_due = 0.0
        self._look_at_list()
        # In turn, so that neither a full list nor a full lane starves the other.
        self._list_next = not self._list_next
        if self._backlog.waiting and (self._list_next or not self._is_lane):
            return self._start_listed()
        return self._start_admitted() if self._is_lane else self._idle()

    def _look_at_list(self) -> None:
        if self._recovers:
            self.recover(self._backlog.known)
            self._recovers = False
        room = self.prefetch - len(self._backlog.outstanding)
        if room > 0 and not self._backlog.waiting and time.monotonic() >= self._list_due:
            fetched = self.fetch(room)
            self._backlog.sort(fetched, self.broker.bands.gated)
            if self._is_lane and not fetched:
                self._list_due = time.monotonic() + LIST_INTERVAL_SECONDS
        self._backlog.park(self)

    def _start_listed(self) -> MessageProxy | None:
        waiting = self._backlog.waiting
        for _ in range(self._process.budget.take(self._backlog.party, len(waiting), self._wait_seconds)):
            message = waiting.popleft()
            message.has_permit = True
            self._ready.append(message)
        self._idle_rounds = 0
        return self._ready.popleft() if self._ready else None

    def _start_admitted(self) -> MessageProxy | None:
        budget, lane = self._process.budget, self.queue_name
        rest_seconds, self._rests_until = self._rests_until - time.monotonic(), 0.0
        # Not without a free thread: another process that has one shall get the token.
        if rest_seconds >= SHORTEST_WAIT_SECONDS and budget.free > 0 and not self._backlog.waiting:
            self._token = self.broker.wait_for_wake(lane, rest_seconds)
            return None
        permits = budget.take(lane, max(1, budget.total), self._wait_seconds)
        if not permits:
            return None
        messages, wait_ms = self._process.admit(self.broker, lane, permits)
        if len(messages) < permits and not (messages and wait_ms == 0):
            # Nothing more is eligible; whatever becomes so pushes a token.
            known = self._wait_seconds if wait_ms is None else max(SHORTEST_WAIT_SECONDS, wait_ms / 1000)
            self._rests_until = time.monotonic() + min(self._wait_seconds, known)
        self._ready.extend(messages)
        return self._ready.popleft() if messages else None

    def _idle(self) -> None:
        if len(self._backlog.outstanding) < self.prefetch:
            self.broker.wait_for_list(self.queue_name, self._wait_seconds)
            return
        self._idle_rounds, backoff_ms = compute_backoff(self._idle_rounds, max_backoff=int(self._wait_seconds * 1000))
        time.sleep(backoff_ms / 1000)

    def ack(self, message: MessageProxy) -> None:
        """Settle the message, or take it off its list."""
        self._end(message, failed=False)

    def nack(self, message: MessageProxy) -> None:
        """Settle the message as failed, or move it to its dead-letter queue."""
        self._end(message, failed=True)

    def _end(self, message: MessageProxy, *, failed: bool) -> None:
        try:
            if isinstance(message, GrantedMessage):
                self._process.settle(self.broker, message)
            else:
                (super().nack if failed else super().ack)(message)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None  # tried again until Redis answers, under the same permit
        except ConnectionClosed:
            raise
        except BaseException:
            # Dramatiq gives up: no thread stands behind it any more, and its lease may run out.
            self._process.abandon(message)
            raise
        if isinstance(message, ListedMessage):
            self._process.abandon(message)

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Hand back what was not begun."""
        messages = list(messages)
        self._process.hand_back_messages(messages)
        listed = [message for message in messages if not isinstance(message, GrantedMessage)]
        try:
            super().requeue(listed)
        finally:
            for message in listed:
                self._process.abandon(message)

    def _put_back(self) -> None:
        ready = list(self._ready)
        self._ready.clear()
        self._process.hand_back_lane(self.queue_name)
        self.requeue(ready)
        self._backlog.put_back(self)

    def close(self) -> None:
        """Hand back what has not begun; but a consumer that takes this one's place after an error has it still."""
        if not self._process.has_worker or self._process.is_halted(self.queue_name):
            self._put_back()
        super().close()

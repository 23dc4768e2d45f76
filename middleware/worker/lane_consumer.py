"""Consumes one queue of a worker process that has lanes: the Dramatiq list beside the lane.

In the flow: the pump of the process admits a lane's executions. The Dramatiq list of a lane's queue may also hold
messages of ungated actors and of plain producers. This consumer fetches them, like those of plain queues, and starts
them when a thread is free. It also settles granted messages. Where no worker runs, it asks for its own lane. If the
process dies here, its grants are reaped, and Dramatiq's own heartbeat requeues the messages fetched from the list.
"""

import time
from collections.abc import Iterable
from typing import Any, Final, cast

from dramatiq import Message, MessageProxy
from dramatiq.common import compute_backoff
from dramatiq.errors import ConnectionClosed

from ..errors import UNAVAILABLE
from ..grants.permits import LISTS
from ..grants.table import GrantedMessage
from .backlog import ListedMessage
from .lane_broker import LaneBroker
from .list_consumer import ListConsumer
from .pump import HALTED_PAUSE_SECONDS, LONGEST_WAIT_SECONDS

TURNING_SECONDS: Final = 0.1
"""The pause before the next read of a list when all fetched messages were put back at its end."""
SHORTEST_WAIT_SECONDS: Final = 0.005
LIST_INTERVAL_SECONDS: Final = 1.0
"""How often a lane's Dramatiq list is read without a wake token; our own producers push one with each message."""


class LaneConsumer(ListConsumer):
    """Consumes one queue, lane and list together."""

    def __init__(self, broker: LaneBroker, queue_name: str, prefetch: int, timeout_ms: int, *, is_new: bool) -> None:
        super().__init__(broker, queue_name, prefetch, timeout_ms)
        self._process = broker.process
        self._wait_seconds = max(SHORTEST_WAIT_SECONDS, min(LONGEST_WAIT_SECONDS, timeout_ms / 1000))
        self._backlog = broker.process.backlog(queue_name)
        self._recovers = not is_new
        self._ready = self._backlog.ready
        self._list_due = 0.0
        self._list_next = False
        self._misses = 0
        self._idle_rounds = 0
        self._own_pump = self._process.pump_for(lambda: (queue_name,))

    @property
    def _is_lane(self) -> bool:
        return self.queue_name in self.broker.bands.gated.lanes

    @property
    def _is_shared(self) -> bool:
        # Without lanes in this process, a queue is consumed as Dramatiq does it.
        return bool(self.broker.bands.gated.lanes) and (self._is_lane or self._process.has_worker)

    def __next__(self) -> MessageProxy | None:
        self._process.progress.note()
        self._process.look_for_left_over(self.queue_name)
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
        if not self._ready:
            self._process.look_after(self.prefetch)
            self._look_at_list()
            self._make_ready()
        return self._ready.popleft() if self._ready else None

    def _look_at_list(self) -> None:
        self._recovers = self._recovers and not self.recover(self._backlog.known)
        if self._backlog.pointed_to.is_set():
            self._backlog.pointed_to.clear()
            self._list_due = 0.0
        if self._wants_more and time.monotonic() >= self._list_due:
            with self.broker.turn(self.queue_name) as has_turn:
                if not has_turn:
                    return
                fetched = self.fetch(self._room)
            taken = self._without_refused(fetched)
            self._backlog.sort(taken, self.broker.bands.gated, self.broker)
            self._list_due = 0.0 if taken else time.monotonic() + self._pause_seconds(turned=bool(fetched))
        self.park(self._backlog.unparked)

    def _pause_seconds(self, *, turned: bool) -> float:
        if turned:
            return TURNING_SECONDS
        if not self._backlog.waiting:
            self._misses = 0
            return LIST_INTERVAL_SECONDS if self._is_lane else 0.0
        # Read the list as often as Dramatiq does: more urgent messages may have come.
        self._misses, backoff_ms = compute_backoff(self._misses, max_backoff=int(self._wait_seconds * 1000))
        return backoff_ms / 1000

    @property
    def _room(self) -> int:
        unparked = self._backlog.unparked
        return self.prefetch - len(self._backlog.outstanding) - (0 if unparked.is_refused else len(unparked))

    @property
    def _wants_more(self) -> bool:
        if self._backlog.unparked.is_refused and not self._has_ungated:
            return False
        # Do not fetch after each message that ends: keep enough here to have the most urgent ones among them.
        return self._room >= max(1, self.prefetch // 4) if self._backlog.waiting else self._room > 0

    @property
    def _has_ungated(self) -> bool:
        gated = self.broker.bands.gated
        actors: dict[str, Any] = cast("Any", self.broker).actors
        return any(each.queue_name == self.queue_name and name not in gated for name, each in list(actors.items()))

    def _without_refused(self, fetched: "list[Message[Any]]") -> "list[Message[Any]]":
        # Messages that would be refused go to the end of the list, or they would hold up those behind them.
        gated, unparked = self.broker.bands.gated, self._backlog.unparked
        taken: list[Message[Any]] = []
        refused: list[MessageProxy] = []
        for message in fetched:
            if message.actor_name in gated and not unparked.takes(message):
                refused.append(MessageProxy(message))
            else:
                taken.append(message)
        super().requeue(refused)
        return taken

    def _make_ready(self) -> None:
        # Without a worker, list and lane take turns, so that neither starves the other.
        self._list_next = not self._list_next
        if self._backlog.waiting and (self._list_next or self._process.has_worker):
            self._start_listed()
        elif not self._is_lane:
            self._idle()
        elif self._process.has_worker:
            self._wait_until_pointed_to()
        else:
            self._own_pump.round(self._wait_seconds)

    def _start_listed(self) -> None:
        if self._process.is_resting:
            time.sleep(SHORTEST_WAIT_SECONDS)
            return
        permits = self._process.permits.take(LISTS, self._backlog.waiting, self._seconds_to_wait)
        started = 0
        try:
            while started < permits and (message := self._process.next_listed(self.queue_name)) is not None:
                message.has_permit = True
                started += 1
                if message.list_name == self.queue_name:
                    self._ready.append(message)
                else:
                    self._process.start_listed(message)
        finally:
            self._process.permits.give(LISTS, permits - started)
        self._idle_rounds = 0

    def _wait_until_pointed_to(self) -> None:
        self._backlog.pointed_to.wait(self._seconds_to_wait)

    @property
    def _seconds_to_wait(self) -> float:
        if not self._wants_more:
            return self._wait_seconds
        return min(self._wait_seconds, max(SHORTEST_WAIT_SECONDS, self._list_due - time.monotonic()))

    def _idle(self) -> None:
        if self._list_due > time.monotonic():
            time.sleep(self._seconds_to_wait)  # the messages in the list cannot be fetched now
            return
        if self._room > 0 and self.broker.lists.wait(self.queue_name, self._wait_seconds):
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
                self._process.holding.settle(self.broker, message)
            else:
                (super().nack if failed else super().ack)(message)
        except UNAVAILABLE as error:
            raise ConnectionClosed(error) from None  # Dramatiq tries again until Redis answers; the permit is kept
        except ConnectionClosed:
            raise
        except BaseException:
            # Dramatiq gives up: no thread works on the message any more, and its lease may run out.
            self._process.abandon(message)
            raise
        if isinstance(message, ListedMessage):
            self._process.abandon(message)

    def requeue(self, messages: Iterable[MessageProxy]) -> None:
        """Hand back messages that have not begun."""
        messages = list(messages)
        self._process.holding.hand_back(messages)
        listed = [message for message in messages if not isinstance(message, GrantedMessage)]
        try:
            super().requeue(listed)
        finally:
            for message in listed:
                self._process.abandon(message)

    def _put_back(self) -> None:
        ready = list(self._ready)
        self._ready.clear()
        self._process.holding.hand_back_unbegun(self.queue_name)
        self.requeue(ready)
        self._backlog.put_back(self)

    def close(self) -> None:
        """Hand back messages that have not begun, unless another consumer takes over the backlog after an error."""
        if not self._process.has_worker or self._process.is_halted(self.queue_name):
            self._put_back()
        super().close()

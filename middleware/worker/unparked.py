"""Gated messages that were fetched from a Dramatiq list and are not parked yet.

In the flow: a consumer fetches them, parks them here and takes them off the list. While their lane is full, a few wait
here, and are not tried before there is room: their producers cannot be told any more. Only an invalid message is
refused for good, and becomes a dead letter. If the process dies here, Dramatiq's own heartbeat requeues the messages
that were not taken off the list; those that were parked by then are recognised by their ids.
"""

import math
import time
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from dramatiq import Message, MessageProxy
from dramatiq.broker import Consumer
from dramatiq.common import q_name

from ...configs.logger import Logger
from ...scheduler.model.errors import QueueFull, QueueRejected
from ...scheduler.views import Views
from ..intake.gated_actors import GatedActors
from ..intake.listed_messages import ListedMessages

log = Logger(__name__)
LOOK_SECONDS: Final = 0.1
"""The first pause between two checks whether a full lane has room; it doubles each time, up to the longest."""
LONGEST_LOOK_SECONDS: Final = 1.0
TRY_SECONDS: Final = 30.0
"""After this time a park is tried although the lane is full, since it expires executions that waited too long."""
MOST_LIMITED: Final = 1_000
"""The most users at their limit whose pauses are remembered; with one more, all are forgotten."""
LONGEST_PAUSE_SECONDS: Final = 60.0
"""The longest pause before another message of a user at the limit is tried."""


@dataclass(slots=True)
class _Pause:
    seconds: float = 0.5
    until: float = 0.0

    def again(self) -> None:
        """Begin the pause again; the next one is twice as long."""
        self.until = time.monotonic() + self.seconds
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE_SECONDS)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


class Unparked:
    """The unparked messages of one list. For one thread."""

    def __init__(self, *, is_delayed: bool) -> None:
        self._is_delayed = is_delayed
        self._waiting: deque[Message[Any]] = deque()
        self._limited: dict[str | int, _Pause] = {}
        self._room: float = math.inf
        self._look_after = 0.0
        self._look_seconds = LOOK_SECONDS
        self._try_after = 0.0
        self.is_refused = False
        """Whether their lane is full: no more gated messages should be fetched."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: "Message[Any]") -> None:
        """Add a fetched message."""
        self._waiting.append(message)

    def takes(self, message: "Message[Any]") -> bool:
        """Whether a message can probably be parked now; otherwise it is best left in its list."""
        return not self.is_refused and not self._is_limited(message)

    def _is_limited(self, message: "Message[Any]") -> bool:
        pause = self._limited.get(_user_of(message))
        return pause is not None and not pause.is_over

    @property
    def proxies(self) -> list[MessageProxy]:
        """All unparked messages."""
        return [MessageProxy(each) for each in self._waiting]

    def clear(self) -> None:
        """Forget all: they were put back into their list."""
        self._waiting.clear()
        self.is_refused = False

    def park(self, consumer: Consumer, gated: GatedActors, listed: ListedMessages, views: Views) -> None:
        """Park all messages, and take them off their list.

        Args:
            consumer: The consumer of their list.
            gated: The gated actors, each with its lane.
            listed: Parks a message.
            views: Say whether a lane has room.

        Raises:
            QueueUnavailable: If Redis did not answer; messages that were not parked are kept for the next time.
            ConnectionClosed: Likewise.
        """
        if self.is_refused and not self._find_room(views):
            return
        for _ in range(len(self._waiting)):
            message = self._waiting[0]
            if self._room <= 0:
                self.is_refused = True
                return
            if self._is_limited(message):
                self._wait_or_leave(consumer)
            elif self._settle(message, consumer, gated, listed):
                self._waiting.popleft()
                self._room -= 1
                self.is_refused = False
            elif self.is_refused:
                return
            else:
                self._wait_or_leave(consumer)

    def _wait_or_leave(self, consumer: Consumer) -> None:
        # The user of the first message is at the limit. The message goes to the end of its list, so that it holds up
        # no other; that of a delay queue stays here, where thousands have room.
        if self._is_delayed:
            self._waiting.rotate(-1)
        else:
            consumer.requeue([MessageProxy(self._waiting[0])])
            self._waiting.popleft()

    def _find_room(self, views: Views) -> bool:
        # Read the lane's status instead of trying to park: each refusal would be an entry in the journal.
        now = time.monotonic()
        if now < self._look_after:
            return False
        (status,) = views.status_of([q_name(self._waiting[0].queue_name)])
        most = status.settings["max_queue_size"]
        self._room = math.inf if most is None else most - status.queue_depth - status.scheduled_count
        self._look_seconds = LOOK_SECONDS if self._room > 0 else min(2 * self._look_seconds, LONGEST_LOOK_SECONDS)
        self._look_after = now + self._look_seconds
        if self._room <= 0 and now >= self._try_after:
            self._room, self._try_after = 1, now + TRY_SECONDS
        return self._room > 0

    def _settle(self, message: "Message[Any]", consumer: Consumer, gated: GatedActors, listed: ListedMessages) -> bool:
        """Park a message, or keep it as a dead letter; False if it has to wait."""
        proxy = MessageProxy(message)
        if message.actor_name not in gated:
            consumer.requeue([proxy])  # its actor was declared anew meanwhile
            return True
        try:
            eta = message.options.get("eta")
            listed.park(message, max(0.0, eta - time.time() * 1000) if isinstance(eta, int | float) else None)
        except QueueFull as error:
            if not self.is_refused:
                log.warning("messages_deferred", queue=message.queue_name, code=error.code)
            self.is_refused = True
            self._look_after = time.monotonic() + LOOK_SECONDS
            self._try_after = time.monotonic() + TRY_SECONDS
            return False
        except QueueRejected as error:
            self.is_refused = False  # its lane has room: it is its user who may have no more waiting
            user = _user_of(message)
            if user not in self._limited:
                log.warning("messages_deferred", queue=message.queue_name, code=error.code)
            if len(self._limited) >= MOST_LIMITED:
                self._limited.clear()
            self._limited.setdefault(user, _Pause()).again()
            return False
        else:
            self._limited.pop(_user_of(message), None)
            consumer.ack(proxy)
        return True


def _user_of(message: "Message[Any]") -> str | int:
    """Return a message's user, or the message's own id if its options name no user (an event has it in its data)."""
    user_id: object = message.options.get("user_id")
    return user_id if isinstance(user_id, str | int) else message.message_id

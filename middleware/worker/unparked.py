"""Gated messages that were fetched from a Dramatiq list and are not parked yet.

In the flow: a consumer fetches them, parks them here and takes them off the list. While their lane is full they wait
here, few at a time, and are not tried before there is room: their producers have long gone on. None is refused for good
but for what it is, as a dead letter. If the process dies here, Dramatiq's own heartbeat requeues what was not taken
off; what was parked by then is known by its id.
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
"""Between two looks whether a full lane has room; twice as long each time, up to the longest."""
LONGEST_LOOK_SECONDS: Final = 1.0
TRY_SECONDS: Final = 30.0
"""A full lane is tried all the same after so long, since what is stale in it ends then."""
MOST_LIMITED: Final = 1_000
"""Users that are known to have as many waiting as are allowed; beyond, they are found out again."""
LONGEST_PAUSE_SECONDS: Final = 60.0
"""Before one more of a user who has as many waiting as are allowed is tried again."""


@dataclass(slots=True)
class _Pause:
    seconds: float = 0.5
    until: float = 0.0

    def again(self) -> None:
        """Once more, twice as long."""
        self.until = time.monotonic() + self.seconds
        self.seconds = min(2 * self.seconds, LONGEST_PAUSE_SECONDS)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until


class Unparked:
    """Those of one list. For one thread."""

    def __init__(self, *, is_delayed: bool) -> None:
        self._is_delayed = is_delayed
        self._waiting: deque[Message[Any]] = deque()
        self._limited: dict[str | int, _Pause] = {}
        self._room: float = math.inf
        self._look_after = 0.0
        self._look_seconds = LOOK_SECONDS
        self._try_after = 0.0
        self.is_refused = False
        """Their lane is full: nothing more that is gated is to be fetched."""

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, message: "Message[Any]") -> None:
        """Take in one that was fetched."""
        self._waiting.append(message)

    def takes(self, message: "Message[Any]") -> bool:
        """Whether one more can be parked now, as far as is known; else it is best left in its list."""
        return not self.is_refused and not self._is_limited(message)

    def _is_limited(self, message: "Message[Any]") -> bool:
        pause = self._limited.get(_user_of(message))
        return pause is not None and not pause.is_over

    @property
    def proxies(self) -> list[MessageProxy]:
        """All of them."""
        return [MessageProxy(each) for each in self._waiting]

    def clear(self) -> None:
        """They were put back into their list."""
        self._waiting.clear()
        self.is_refused = False

    def park(self, consumer: Consumer, gated: GatedActors, listed: ListedMessages, views: Views) -> None:
        """Park them, and take them off their list.

        Args:
            consumer: Of their list.
            gated: The actors that have a lane.
            listed: Parks.
            views: To look whether there is room.

        Raises:
            QueueUnavailable: If Redis did not answer; what was not parked is kept for the next time.
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
        # The first one's user has as many waiting as are allowed. It goes to the end of its list, and holds up no
        # other; a delay queue has room for thousands.
        if self._is_delayed:
            self._waiting.rotate(-1)
        else:
            consumer.requeue([MessageProxy(self._waiting[0])])
            self._waiting.popleft()

    def _find_room(self, views: Views) -> bool:
        # By looking: each refusal is an entry in the journal.
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
        """Park one, or keep it as a dead letter; False if it has to wait."""
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
    """Whose it is; where the message does not say (an event does in its data), it stands for itself."""
    user_id: object = message.options.get("user_id")
    return user_id if isinstance(user_id, str | int) else message.message_id

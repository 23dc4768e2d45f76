"""Parks gated messages that a producer without our middleware put into a Dramatiq list.

In the flow: called by the consumer that fetched such a message, and by the gate of a plain broker. The message leaves
its list only afterwards, so it is parked at least once. Its id is derived from its delivery, so it takes effect once.
"""

from typing import Any

from dramatiq import Message

from ...scheduler.engine.engine import Engine
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest, NotUnique
from .burial import Burial
from .envelope import HINT, as_sent
from .execution_ids import delivery_of
from .failing_closed import FailingClosed
from .gated_actors import GatedActors
from .message_options import read_message


class ListedMessages:
    """Parks such messages on one server. Safe to share between threads."""

    def __init__(self, engine: Engine, gated: GatedActors, burial: Burial, max_message_bytes: int) -> None:
        """Messages longer than `max_message_bytes` become dead letters."""
        self._engine = engine
        self._gated = gated
        self._burial = burial
        self._max_message_bytes = max_message_bytes

    def park(self, message: "Message[Any]", delay_ms: float | None) -> None:
        """Park a message. A second park of the same delivery changes nothing; an invalid message becomes a dead letter.

        Args:
            message: A message of a gated actor.
            delay_ms: How long it still has to wait.

        Raises:
            QueueRejected: QueueFull or UserLimitExceeded.
            QueueUnavailable: If Redis did not answer.
        """
        if HINT in message.options:
            return
        try:
            self._park(message, delay_ms)
        except InvalidRequest as rejection:
            self._burial.of_listed(self._gated[message.actor_name], message, rejection)

    def _park(self, message: "Message[Any]", delay_ms: float | None) -> None:
        with FailingClosed(message):
            candidate = read_message(
                self._gated[message.actor_name],
                as_sent(message),
                delay_ms,
                # The server's clock, not this host's, which may be off (F18).
                self._engine.views.server_time_ms() if delay_ms else 0,
                origin=delivery_of(message),
                is_delivered=True,
                max_bytes=self._max_message_bytes,
            )
            try:
                self._engine.transitions.park(candidate)
            except DuplicateExecution as duplicate:
                self._burial.unless_repeated(message, candidate, duplicate)
            except NotUnique as conflict:
                if not conflict.is_dropped:
                    self._burial.of_listed(self._gated[message.actor_name], message, conflict)

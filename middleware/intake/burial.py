"""Keeps refused messages as dead letters with the reason, where an exception could not reach their senders.

In the flow: these are messages of hooks (a pipeline's next step, a callback), since Dramatiq would swallow the
exception, and messages that a plain producer put into a list. The dead letter goes to the outbox of its lane, and a
worker of the lane tells the sender. If the process dies before that, the body runs again, or the list still has the
message.
"""

import json
from dataclasses import replace
from typing import Any, Final

from dramatiq import Message

from ...configs.logger import Logger
from ...scheduler.engine.parking import Candidate
from ...scheduler.engine.transitions import Transitions
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest, NotUnique, QueueRejected
from ...scheduler.model.identifiers import check_execution_id, new_execution_id
from .actor_options import GatedActor
from .envelope import as_sent
from .execution_ids import delivery_of, derived_id, digest, execution_id_of
from .message_options import encoded

log = Logger(__name__)
LEFT_OUT: Final = "arguments_left_out"
"""The option that marks a dead letter without arguments, since they could not be kept."""
KEPT_OPTION_CHARS: Final = 1_000
"""A message that is kept without its arguments also loses text options longer than this."""


class Burial:
    """Keeps dead letters on one server. Safe to share between threads."""

    def __init__(self, transitions: Transitions, max_message_bytes: int) -> None:
        self._transitions = transitions
        self._max_message_bytes = max_message_bytes

    def of_follow_up(self, candidate: Candidate, rejection: QueueRejected) -> None:
        """Keep a hook's refused message as a dead letter, unless it is to be dropped.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if isinstance(rejection, NotUnique) and rejection.is_dropped:
            return
        self._bury(candidate, rejection)
        log.error("follow_up_rejected", execution_id=candidate.execution_id, code=rejection.code, error=str(rejection))

    def of_unread(
        self, gated: GatedActor, message: "Message[Any]", parent: str, origin: str, rejection: QueueRejected
    ) -> None:
        """Keep a hook's message that could not be read as a dead letter; without its arguments if they are too long.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        try:
            execution_id = check_execution_id(execution_id_of(message, origin))
        except InvalidRequest:
            execution_id = new_execution_id()
        kept = self._kept(message, self._max_message_bytes)
        self.of_follow_up(_unread(gated, message, execution_id, kept, parent), rejection)

    def of_listed(self, gated: GatedActor, message: "Message[Any]", rejection: QueueRejected) -> None:
        """Keep a plain producer's message as a dead letter: once for each delivery, and whole, as Redis has it already.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # Not under an id that its sender chose: that id stays free for the message that the sender sends instead.
        execution_id = derived_id(message.message_id, delivery_of(message))
        sent = as_sent(message)
        self._bury(_unread(gated, sent, execution_id, self._kept(sent, None)), rejection)
        log.error(
            "message_rejected",
            message_id=message.message_id,
            actor=message.actor_name,
            kept_as=execution_id,
            error=str(rejection),
        )

    def unless_repeated(self, sent: "Message[Any]", candidate: Candidate, duplicate: DuplicateExecution) -> None:
        """Keep a message with a known execution id as a dead letter, unless it repeats the sending of that execution.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # An id that the sender did not choose identifies the sending by itself.
        if not candidate.origin or duplicate.origin in (candidate.origin, digest(sent.message_id)):
            log.debug("sent_before", execution_id=candidate.execution_id)
            return
        refused = replace(candidate, execution_id=derived_id(candidate.execution_id, candidate.origin))
        if self._bury(refused, duplicate):
            log.warning(
                "duplicate_rejected",
                execution_id=candidate.execution_id,
                state=duplicate.state,
                kept_as=refused.execution_id,
            )

    def _bury(self, candidate: Candidate, rejection: QueueRejected) -> bool:
        return self._transitions.bury(candidate, rejection.code, result=refusal_of(rejection))

    def _kept(self, message: "Message[Any]", max_bytes: int | None) -> bytes:
        try:
            return encoded(message, max_bytes)
        except InvalidRequest:
            # Keep the message's names and options, so that its sender can still be told.
            options = {name: value for name, value in message.options.items() if _is_short(value)}
            return encoded(as_sent(message, args=(), kwargs={}, options={**options, LEFT_OUT: True}), None)


def _unread(gated: GatedActor, message: "Message[Any]", execution_id: str, kept: bytes, parent: str = "") -> Candidate:
    return Candidate(execution_id, message.queue_name, int(gated.band), gated.action, message=kept, parent=parent)


def _is_short(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= KEPT_OPTION_CHARS)


def refusal_of(rejection: QueueRejected) -> bytes:
    """Return what a dead letter keeps of its refusal, in the form of `settlement.failure_of`."""
    return json.dumps({"exception": f"{type(rejection).__name__}: {rejection}", "traceback": ""}).encode()

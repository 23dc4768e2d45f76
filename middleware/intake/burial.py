"""Keeps what was refused where nobody could be told as a dead letter with the reason, and has its sender told.

In the flow: a hook's message (a pipeline's next step, a callback), for Dramatiq would swallow what is raised there; and
what a plain producer put into a list. The dead letter is posted to the outbox of its lane, whose workers tell. If the
process dies before it is kept, the body runs again, or the list still has the message.
"""

import json
from dataclasses import replace
from typing import Any, Final

from dramatiq import Message

from ...configs.logger import Logger
from ...scheduler.engine.parking import Candidate
from ...scheduler.engine.transitions import Transitions
from ...scheduler.model.errors import DuplicateExecution, InvalidRequest, QueueRejected
from ...scheduler.model.identifiers import check_execution_id, new_execution_id
from .actor_options import GatedActor
from .envelope import as_sent
from .execution_ids import delivery_of, derived_id, digest, execution_id_of
from .message_options import encoded

log = Logger(__name__)
LEFT_OUT: Final = "arguments_left_out"
"""The option that says that a dead letter has no arguments: they could not be kept."""
KEPT_OPTION_CHARS: Final = 1_000
"""Of a message that is kept without its arguments, longer options are left out, too."""


class Burial:
    """Buries on one server. Safe to share between threads."""

    def __init__(self, transitions: Transitions, max_message_bytes: int) -> None:
        self._transitions = transitions
        self._max_message_bytes = max_message_bytes

    def of_follow_up(self, candidate: Candidate, rejection: QueueRejected) -> None:
        """Bury what a hook sent.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        self._bury(candidate, rejection)
        log.error("follow_up_rejected", execution_id=candidate.execution_id, code=rejection.code, error=str(rejection))

    def of_unread(
        self, gated: GatedActor, message: "Message[Any]", parent: str, origin: str, rejection: QueueRejected
    ) -> None:
        """Bury what a hook sent and what could not be read; it is kept without its arguments, if they are too long.

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
        """Bury what a plain producer put into a list, whole: it lies in Redis anyway. Once for each delivery.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # Not under a name that its sender chose: that is free for what he sends in its place.
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
        """Bury what names an execution that is known, unless it is that one's own sending.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        # An id that its sender did not name tells the sending by itself.
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
            # Its sender is to be told all the same, by what the message is called and asks for.
            options = {name: value for name, value in message.options.items() if _is_short(value)}
            return encoded(as_sent(message, args=(), kwargs={}, options={**options, LEFT_OUT: True}), None)


def _unread(gated: GatedActor, message: "Message[Any]", execution_id: str, kept: bytes, parent: str = "") -> Candidate:
    return Candidate(execution_id, message.queue_name, int(gated.band), gated.action, message=kept, parent=parent)


def _is_short(value: object) -> bool:
    return isinstance(value, int | float) or (isinstance(value, str) and len(value) <= KEPT_OPTION_CHARS)


def refusal_of(rejection: QueueRejected) -> bytes:
    """What a dead letter keeps of the refusal that made it one, as `settlement.failure_of` keeps an exception."""
    return json.dumps({"exception": f"{type(rejection).__name__}: {rejection}", "traceback": ""}).encode()

"""Rebuilds the message of a grant: the stored message with its event put back in, or a new message for the event.

In the flow: after admission, in the process that will run the message. If the message cannot be read, or its actor is
not known here, the execution is ended: it holds a slot, and would otherwise be admitted again and again.
"""

import json
from collections.abc import Mapping
from typing import Any

from dramatiq import Broker, Message
from dramatiq.errors import ActorNotFound, DecodeError

from ...configs.logger import Logger
from ...scheduler.engine.grants import Grant
from ...scheduler.engine.settlements import Release
from ...scheduler.model.errors import InvalidRequest
from ...scheduler.model.states import State
from ..intake.actor_options import GatedActor
from ..intake.envelope import as_sent, decoded

log = Logger(__name__)


def message_of(grant: Grant, gated: Mapping[str, GatedActor], broker: Broker) -> "Message[Any]":
    """Return the message of a grant.

    Args:
        grant: The grant, as admitted.
        gated: The gated actors by name.
        broker: The broker on which this process has declared its actors.

    Raises:
        InvalidRequest: If the message or the event cannot be read, or an event was enqueued without a message and no
            actor of the lane runs events.
        ActorNotFound: If the message's actor is not declared here.
    """
    message = _stored(grant) or _made(grant, gated)
    broker.get_actor(message.actor_name)
    if grant.event is not None:
        try:
            message = as_sent(message, args=(json.loads(grant.event),))
        except ValueError:
            raise InvalidRequest("event", "it cannot be read") from None
    message.options["execution_id"] = grant.execution_id  # the message is a copy with options of its own
    return message


def refusal_of(grant: Grant, error: Exception) -> Release:
    """Return the release of a grant whose message cannot run here: it ends as a dead letter."""
    reason = "actor_unknown" if isinstance(error, ActorNotFound) else "message_unreadable"
    # The text of any other error may contain a part of the payload.
    said = str(error) if isinstance(error, ActorNotFound | InvalidRequest) else type(error).__name__
    log.error("grant_refused", execution_id=grant.execution_id, reason=reason, error=said)
    return Release(grant.execution_id, grant.attempt, State.FAILED, grant.nonce, reason, dead=True)


def _stored(grant: Grant) -> "Message[Any] | None":
    if grant.message is None:
        return None
    try:
        # Without the broker's delivery options: a due time would send it to a delay queue instead of a thread.
        return as_sent(decoded(grant.message))
    except (DecodeError, TypeError, AttributeError):
        raise InvalidRequest("message", "it cannot be read") from None


def _made(grant: Grant, gated: Mapping[str, GatedActor]) -> "Message[Any]":
    runner = next((actor for actor in gated.values() if actor.runs_events and actor.lane == grant.lane), None)
    if runner is None:
        raise InvalidRequest("lane", f"no actor of lane {grant.lane} runs events here")
    return Message(
        queue_name=grant.lane, actor_name=runner.name, args=(), kwargs={}, options={}, message_id=grant.execution_id
    )

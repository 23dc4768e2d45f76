"""Decides whether a message that is sent under the id of the running execution is its retry or a new request.

In the flow: `PriorityBands` asks this before it notes a retry. The settlement applies a retry under the grant, without
the checks of a park. So a retry must pass the same gates as what was admitted: the same actor and queue, band, action,
user and gates. Any other message is parked as usual, where its id guards against duplicates. Nothing is written here.
"""

from typing import Any

from dramatiq import Message

from ...scheduler.engine.transitions import Candidate
from .actor_options import GatedActor
from .execution_ids import execution_id_of
from .message_options import MESSAGE_OPTIONS, read_message


def is_own(sent: "Message[Any]", execution_id: str, held: "Message[Any]") -> bool:
    """Whether `sent` belongs to the held execution: by its execution id, or by its message id if it has none."""
    if "execution_id" in sent.options:
        return bool(execution_id_of(sent, is_delivered=True) == execution_id)
    return sent.message_id == held.message_id


def is_retry(gated: GatedActor, sent: "Message[Any]", held: "Message[Any]") -> bool:
    """Whether `sent` is a retry of the held message; its arguments may differ.

    Args:
        gated: The actor of `sent`.
        sent: The message that a body, or Dramatiq's `Retries`, sends.
        held: The message, as it was admitted.

    Raises:
        InvalidRequest: If an option or an argument of `sent` is not allowed.
    """
    if (sent.actor_name, sent.queue_name) != (held.actor_name, held.queue_name):
        return False
    if list(sent.args) == list(held.args) and sent.kwargs == held.kwargs and _asked(sent) == _asked(held):
        return True  # even if the message could not be read any more, since its actor's options have changed
    return _asked(sent).get("scheduled_at") == _asked(held).get("scheduled_at") and (
        _passes(read_message(gated, sent, None, 0)) == _passes(read_message(gated, held, None, 0))
    )


def _asked(message: "Message[Any]") -> dict[str, Any]:
    return {name: message.options[name] for name in MESSAGE_OPTIONS & message.options.keys() if name != "execution_id"}


def _passes(candidate: Candidate) -> tuple[object, ...]:
    return candidate.band, candidate.action, candidate.user_id, candidate.gates

"""Separates a message from its delivery: removes and restores what a broker stamps on it for one trip.

In the flow: before a message is read, stored or stored again, so that a delay queue's name or a due time of the broker
never comes back with a retry.
"""

from typing import Any, Final

from dramatiq import Message, MessageProxy
from dramatiq.common import q_name

HINT: Final = "bandmaster_hint"
"""On a plain broker, marks a message that only says: an execution of this lane may start. Its value is a `HintKind`."""

DELIVERY_OPTIONS: Final = frozenset({"eta", "redis_message_id", HINT})
"""Stamped by a broker, or by our hints, for one delivery only."""


def copied(message: "Message[Any]", **options: Any) -> "Message[Any]":
    """A copy, with some options replaced."""
    if type(message) is not Message:
        return message.copy(options=options)  # pyright: ignore[reportUnknownVariableType]  # Dramatiq leaves it open of what
    # For each message that is sent or run, Dramatiq's own ways to copy one cost several times as much.
    return Message(
        message.queue_name,
        message.actor_name,
        message.args,
        message.kwargs,
        {**message.options, **options},
        message.message_id,
        message.message_timestamp,
    )


def decoded(data: bytes) -> "Message[Any]":
    """The message that was encoded.

    Raises:
        DecodeError: If it cannot be read.
    """
    return Message.decode(data)  # pyright: ignore[reportUnknownVariableType]  # likewise


def plain_message(message: MessageProxy) -> "Message[Any]":
    """The message that a proxy stands for."""
    return message._message  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]  # no other way in


def replace_message(proxy: MessageProxy, message: "Message[Any]") -> None:
    """Let a proxy stand for another message; how its delivery ends stays its own."""
    proxy._message = message  # pyright: ignore[reportPrivateUsage]  # no other way in


def is_bare(message: "Message[Any]") -> bool:
    """Whether nothing of a delivery is on a message, so that it is as it was sent."""
    return DELIVERY_OPTIONS.isdisjoint(message.options) and q_name(message.queue_name) == message.queue_name


def as_sent(message: "Message[Any]", **replaced: Any) -> "Message[Any]":
    """A copy on its own queue, without delivery options, with some fields replaced."""
    options: dict[str, Any] = {name: v for name, v in message.options.items() if name not in DELIVERY_OPTIONS}
    # Field by field, as in `copied`.
    fields: dict[str, Any] = {
        "queue_name": q_name(message.queue_name),
        "actor_name": message.actor_name,
        "args": message.args,
        "kwargs": message.kwargs,
        "options": options,
        "message_id": message.message_id,
        "message_timestamp": message.message_timestamp,
    }
    return Message(**(fields | replaced))

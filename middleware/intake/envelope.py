"""Separates a message from its delivery: removes the options that a broker stamps on it for one delivery.

In the flow: used before a message is read, stored or stored again, so that a retry never carries the name of a delay
queue or a due time of the broker.
"""

from typing import Any, Final

from dramatiq import Message, MessageProxy
from dramatiq.common import q_name

HINT: Final = "bandmaster_hint"
"""The option that marks a hint on a plain broker: an execution of this lane may start. Its value is a `HintKind`."""

DELIVERY_OPTIONS: Final = frozenset({"eta", "redis_message_id", HINT})
"""The options that a broker, or our hints, stamp on a message for one delivery only."""


def copied(message: "Message[Any]", **options: Any) -> "Message[Any]":
    """Return a copy, with some options replaced."""
    if type(message) is not Message:
        return message.copy(options=options)  # pyright: ignore[reportUnknownVariableType]  # untyped in Dramatiq
    # This runs for each message that is sent or run; Dramatiq's own ways to copy one take several times as long.
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
    """Decode a message.

    Raises:
        DecodeError: If it cannot be read.
    """
    return Message.decode(data)  # pyright: ignore[reportUnknownVariableType]  # likewise


def plain_message(message: MessageProxy) -> "Message[Any]":
    """Return the message behind a proxy."""
    return message._message  # pyright: ignore[reportPrivateUsage, reportUnknownVariableType]  # no other way in


def replace_message(proxy: MessageProxy, message: "Message[Any]") -> None:
    """Put another message behind a proxy; the proxy keeps its own state of delivery, such as `failed`."""
    proxy._message = message  # pyright: ignore[reportPrivateUsage]  # no other way in


def is_bare(message: "Message[Any]") -> bool:
    """Whether a message carries no traces of a delivery, so that it is as it was sent."""
    return DELIVERY_OPTIONS.isdisjoint(message.options) and q_name(message.queue_name) == message.queue_name


def as_sent(message: "Message[Any]", **replaced: Any) -> "Message[Any]":
    """Return a copy on the message's own queue, without delivery options, with some fields replaced."""
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

"""Separates a message from its delivery: removes the options that a broker stamps on it for one delivery.

In the flow: used before a message is read, stored or stored again, so that a retry never carries the name of a delay
queue or a due time of the broker.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final

from dramatiq import Message, MessageProxy
from dramatiq.common import q_name

from ...scheduler.model.errors import InvalidRequest, shown

HINT: Final = "bandmaster_hint"
"""The option that marks a hint on a plain broker: an execution of this lane may start. Its value is a `HintKind`."""

DROPPED: Final = "dropped"
"""The option of a message, as `send` returns it, that was not accepted since another execution has its unique key:
``execution_id`` names that one."""


class HintKind(StrEnum):
    """The kinds of marked hints."""

    LANE = "lane"
    """An execution of this lane may start; the message itself is no execution."""
    MESSAGE = "message"
    """Redis did not answer when the message arrived, so it comes again; it may not have been parked."""


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


def checked(messages: "Iterable[Message[Any]]") -> "list[Message[Any]]":
    """Return messages that are to be sent together, as a list; what the iterable itself raises is raised.

    Raises:
        InvalidRequest: If one is no message.
    """
    if not isinstance(messages, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # an application may be untyped
        raise InvalidRequest("messages", f"{shown(messages)} is no list", allowed="messages, or an iterable of them")
    listed = list(messages)
    for each in listed:
        if not isinstance(each, Message | MessageProxy):  # pyright: ignore[reportUnnecessaryIsInstance]  # likewise
            raise InvalidRequest("messages", f"{shown(each)} is no message", allowed="work.message(…) of an actor work")
    return listed


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

"""A message apart from its delivery: what a broker stamps on it for one trip through its queues is no part of it.

In the flow: before a message is read, stored or stored again, so that a delay queue's name or a due time of the broker
never comes back with a retry.
"""

from typing import Any, Final

from dramatiq import Message
from dramatiq.common import q_name

DELIVERY_OPTIONS: Final = frozenset({"eta", "redis_message_id", "bandmaster_grant"})
"""Stamped by a broker, or by our dispatch, for one delivery only."""


def as_sent(message: "Message[Any]", **replaced: Any) -> "Message[Any]":
    """A copy on its own queue, without delivery options, with some fields replaced."""
    options: dict[str, Any] = {name: v for name, v in message.options.items() if name not in DELIVERY_OPTIONS}
    fields: dict[str, Any] = {**message.asdict(), "queue_name": q_name(message.queue_name), "options": options}
    return Message(**{**fields, **replaced})

"""The one message option in which a trace's context travels, and what spans say of a message.

In the flow: a send writes the option, the worker reads it. It is a part of the message, so it goes through Redis, the
ledger, delays and retries as the message does. Pure functions; arguments and results of actors are never read.
"""

from typing import Any, Final, cast

from dramatiq import Message, MessageProxy
from dramatiq.common import q_name
from opentelemetry import propagate
from opentelemetry.context import Context
from opentelemetry.semconv._incubating.attributes import messaging_attributes as names

OPTION: Final = "trace_context"
"""The message option; its value is what the configured propagators write, as a dict of texts."""
ACTOR: Final = "dramatiq.actor.name"
_SYSTEM: Final = "dramatiq"


def carries_context(message: "Message[Any] | MessageProxy") -> bool:
    """Whether a message was sent under a span already, as one that is tried again or falls due was."""
    return OPTION in message.options


def written(context: Context | None = None) -> dict[str, str]:
    """Return the value of the option for a context; None: the current one."""
    carrier: dict[str, str] = {}
    propagate.inject(carrier, context=context)
    return carrier


def read(message: MessageProxy) -> Context | None:
    """Return the context that a message carries; None if there is none, or somebody else wrote what cannot be read."""
    carrier: object = message.options.get(OPTION)
    if not isinstance(carrier, dict):
        return None
    pairs = cast("dict[object, object]", carrier).items()
    # A propagator fails on what is no text, and so would the message.
    return propagate.extract({str(name): value for name, value in pairs if isinstance(value, str)})


def attributes_of(message: "Message[Any] | MessageProxy", name: str, kind: str) -> dict[str, str]:
    """Return a span's attributes by the semantic conventions for messaging.

    Args:
        message: The message.
        name: The operation's name: `send`, `create` or `process`.
        kind: The operation's type in the conventions.
    """
    return {
        names.MESSAGING_SYSTEM: _SYSTEM,
        names.MESSAGING_OPERATION_NAME: name,
        names.MESSAGING_OPERATION_TYPE: kind,
        names.MESSAGING_DESTINATION_NAME: q_name(message.queue_name),
        names.MESSAGING_MESSAGE_ID: message.message_id,
        ACTOR: message.actor_name,
    }

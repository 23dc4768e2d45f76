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
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.trace_context import TraceContext, read_trace

OPTION: Final = "trace_context"
"""The message option; its value is what the configured propagators write, as a dict of texts."""
ACTOR: Final = "dramatiq.actor.name"
_SYSTEM: Final = "dramatiq"
W3C: Final = TraceContextTextMapPropagator()
"""The form outside of messages, whatever the configured propagators are."""


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


def read_request(event: bytes) -> tuple[Context | None, int | None]:
    """Return the context that a request was enqueued with, without a message, and when, unix ms; None: it has none.

    Args:
        event: The ExecutionRequestedEvent, as it is kept.
    """
    try:
        request = ExecutionRequestedEvent.from_json(event)
    except InvalidRequest:
        return None, None  # the body says so
    requested_ms = int(request.requested_at.timestamp() * 1000)
    found = read_trace(request.metadata.traceparent, request.metadata.tracestate)
    return (None if found is None else context_of(found)), requested_ms


def context_of(span: TraceContext) -> Context:
    """Return the context in which a span is the parent."""
    carrier = {"traceparent": span.traceparent, "tracestate": span.tracestate}
    return W3C.extract({name: value for name, value in carrier.items() if value}, context=Context())


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

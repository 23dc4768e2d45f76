"""The PRODUCER span of a send, whose context goes into the message.

In the flow: around `Broker.enqueue`, before any broker or middleware sees the message, so that what is parked or listed
has the context. A message that carries one already (tried again, fallen due, sent again from a dead letter) gets no
span: its attempts belong to its first send. If the process dies here, the span is lost, and nothing else.
"""

from collections.abc import Callable
from typing import Any

from dramatiq import Broker, Message, MessageProxy
from opentelemetry import context as current
from opentelemetry.trace import SpanKind, Status, StatusCode, Tracer, set_span_in_context

from bandmaster.middleware.intake.envelope import copied

from .carrier import OPTION, attributes_of, carries_context, written


class Sending:
    """The spans of sends, of one tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def enqueue(self, enqueue: Callable[..., Any], broker: Broker, message: Any, delay: int | None) -> Any:
        """Enqueue a message under a span.

        Args:
            enqueue: The broker's own way.
            broker: The broker.
            message: The message; a copy of it is sent, so that the caller's own can be sent again under another span.
            delay: As in `Broker.enqueue`.

        Returns:
            What the broker returns.

        Raises:
            Exception: What the broker raises; the span has recorded it.
        """
        if carries_context(message):
            return enqueue(broker, message, delay=delay)
        if isinstance(message, MessageProxy):
            # A retry of what was sent without a span: its attempts are in one trace from here on.
            self._mark(message.options)
            return enqueue(broker, message, delay=delay)
        span = self._tracer.start_span(
            f"send {message.queue_name}", kind=SpanKind.PRODUCER, attributes=attributes_of(message, "send", "send")
        )
        # By hand: OpenTelemetry's own context manager takes as long as all else of a send that is not sampled.
        context = set_span_in_context(span)
        token = current.attach(context)
        try:
            # Without a provider of spans, nothing is added to the message.
            if span.get_span_context().is_valid:
                message = copied(message, **{OPTION: written(context)})
            return enqueue(broker, message, delay=delay)
        except Exception as error:
            span.record_exception(error)
            span.set_status(Status(StatusCode.ERROR, f"{type(error).__name__}: {error}"))
            raise
        finally:
            current.detach(token)
            span.end()

    def create(self, message: "Message[Any]") -> None:
        """Give a context to a message of a batch, which goes through no `enqueue`; it is the broker's own copy."""
        if carries_context(message):
            return
        with self._tracer.start_as_current_span(
            f"create {message.queue_name}",
            kind=SpanKind.PRODUCER,
            attributes=attributes_of(message, "create", "create"),
        ) as span:
            # Without a provider of spans this is the caller's own message, or nobody's: nothing is added.
            if span.get_span_context().is_valid:
                self._mark(message.options)

    def _mark(self, options: dict[str, Any]) -> None:
        carrier = written()
        if carrier:
            options[OPTION] = carrier

"""The CONSUMER span of an attempt, a child of the send's, with the wait of a gated execution.

In the flow: it begins when the hooks before a body are done, since on a plain broker they choose which execution runs;
it is the current span of the body and of the hooks after it, so that what they send is in the same trace; and it ends
before the message is acknowledged. If the process dies meanwhile, this attempt's span is lost; the next one's is not.
"""

import time
from contextvars import ContextVar, Token
from typing import Any, Final

from dramatiq import MessageProxy
from dramatiq.errors import Retry
from opentelemetry import context as current
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, Status, StatusCode, Tracer, set_span_in_context

from bandmaster.middleware.grants.context import current_entry
from bandmaster.middleware.grants.table import Entry
from bandmaster.scheduler.spans import ATTEMPT, EXECUTION, LANE

from .carrier import attributes_of, read, read_request

RETRIES: Final = "dramatiq.retries"
SKIPPED: Final = "dramatiq.skipped"
_NS_PER_MS: Final = 1_000_000
_NS_PER_SECOND: Final = 1_000_000_000

_open: ContextVar[tuple[Span, Token[Context]] | None] = ContextVar("bandmaster_span", default=None)


class Working:
    """The spans of attempts, of one tracer."""

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def begin(self, message: MessageProxy) -> None:
        """Begin the span of the message that this thread is about to run, and make it the current one."""
        self.end()
        entry: Any = current_entry()
        parent, enqueued_ms = read(message), None
        if entry is not None and entry.grant.message is None and entry.grant.event is not None:
            requested, enqueued_ms = read_request(entry.grant.event)
            parent = parent or requested
        attributes: dict[str, Any] = attributes_of(message, "process", "process")
        attributes[RETRIES] = message.options.get("retries", 0)
        if entry is not None:
            grant = entry.grant
            attributes |= {EXECUTION: grant.execution_id, LANE: grant.lane, ATTEMPT: grant.attempt}
        span = self._tracer.start_span(
            f"process {attributes['messaging.destination.name']}",
            context=parent,
            kind=SpanKind.CONSUMER,
            attributes=attributes,
        )
        if isinstance(entry, Entry) and span.is_recording():
            _tell_wait(span, message, entry, enqueued_ms)
        _open.set((span, current.attach(set_span_in_context(span, parent))))

    def tell(self, exception: BaseException | None, *, is_skipped: bool) -> None:
        """Note on the span how the body ended.

        Args:
            exception: What it raised. Dramatiq's `Retry` is no error: it asks for another attempt.
            is_skipped: A middleware or the body skipped the message.
        """
        opened = _open.get()
        if opened is None:
            return
        span, _ = opened
        if is_skipped:
            span.set_attribute(SKIPPED, True)
        if exception is not None:
            span.record_exception(exception)
            if not isinstance(exception, Retry):
                span.set_status(Status(StatusCode.ERROR, type(exception).__name__))

    def end(self) -> None:
        """End this thread's span, if one is open."""
        opened = _open.get()
        if opened is None:
            return
        _open.set(None)
        span, token = opened
        current.detach(token)
        span.end()


def _tell_wait(span: Span, message: MessageProxy, entry: Entry, enqueued_ms: int | None) -> None:
    # The lease counts from before the call that gave it: that is when it was admitted, to a round trip.
    ago_seconds = time.monotonic() - (entry.deadline - entry.grant.lease_ms / 1000)
    admitted_ns = time.time_ns() - int(ago_seconds * _NS_PER_SECOND)
    parked_ms: object = message.options.get("requeue_timestamp") or enqueued_ms or message.message_timestamp
    if isinstance(parked_ms, int):
        span.add_event("bandmaster.sent", timestamp=parked_ms * _NS_PER_MS)
        span.set_attribute("bandmaster.wait_ms", max(0, admitted_ns // _NS_PER_MS - parked_ms))
    span.add_event("bandmaster.admitted", timestamp=admitted_ns)

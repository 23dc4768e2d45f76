"""``ProcessSpans``: the spans of parts that know no OpenTelemetry, made by it; see `bandmaster.scheduler.spans`.

In the flow: the instrumentor puts them in, and takes them out. Contexts are in the form of W3C Trace Context, whatever
propagators messages have. If the process dies, its open spans are lost.
"""

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager

from opentelemetry import trace
from opentelemetry.trace import Link, Status, StatusCode, Tracer

from bandmaster.scheduler.model.trace_context import TraceContext, read_trace
from bandmaster.scheduler.spans import Attributes, Past, Spans

from .carrier import W3C, context_of


class ProcessSpans(Spans):
    """The spans of one tracer."""

    is_on = True

    def __init__(self, tracer: Tracer) -> None:
        self._tracer = tracer

    def current(self) -> TraceContext | None:
        """Return the span in which the calling code runs."""
        carrier: dict[str, str] = {}
        W3C.inject(carrier)
        return read_trace(carrier.get("traceparent"), carrier.get("tracestate"))

    def step(self, name: str, attributes: Attributes) -> AbstractContextManager[None]:
        """Make what a `with` block does a span within the current one."""
        return self._step(name, attributes)

    @contextmanager
    def _step(self, name: str, attributes: Attributes) -> Generator[None]:
        with self._tracer.start_as_current_span(name, attributes=attributes):
            yield

    def wants(self, parent: TraceContext) -> bool:
        """Whether the parent is sampled; what samplers make of others is not found out for it."""
        return trace.get_current_span(context_of(parent)).get_span_context().trace_flags.sampled

    def tell(self, past: Past) -> None:
        """Tell a span that is over."""
        teller = trace.get_current_span().get_span_context()
        span = self._tracer.start_span(
            past.name,
            context=context_of(past.parent),
            attributes=past.attributes,
            links=[Link(teller)] if teller.is_valid else [],
            start_time=_ns(past.began_at),
        )
        for name, at in past.events.items():
            span.add_event(name, timestamp=_ns(at))
        if past.error:
            span.set_status(Status(StatusCode.ERROR, past.error))
        span.end(_ns(past.ended_at))


def _ns(unix_seconds: float) -> int:
    # To the microsecond, which is what a float holds of the time.
    return round(unix_seconds * 1_000_000) * 1_000

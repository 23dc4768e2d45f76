"""What tests read of spans."""

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind


def of_kind(spans: InMemorySpanExporter, kind: SpanKind) -> list[ReadableSpan]:
    """Return the ended spans of a kind, in the order of their begin."""
    return sorted(
        (each for each in spans.get_finished_spans() if each.kind is kind), key=lambda each: each.start_time or 0
    )


def trace_id(span: ReadableSpan) -> int:
    """Return the id of a span's trace."""
    assert span.context is not None
    return span.context.trace_id


def is_child(child: ReadableSpan, parent: ReadableSpan) -> bool:
    """Whether a span is another's child, in the same trace."""
    assert parent.context is not None
    return (
        child.parent is not None
        and child.parent.span_id == parent.context.span_id
        and trace_id(child) == trace_id(parent)
    )

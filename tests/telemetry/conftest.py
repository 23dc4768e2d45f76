"""Spans in memory, and the instrumentor on for one test."""

from collections.abc import Iterator

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bandmaster.telemetry import DramatiqInstrumentor


@pytest.fixture
def spans() -> InMemorySpanExporter:
    """Where ended spans are."""
    return InMemorySpanExporter()


@pytest.fixture
def provider(spans: InMemorySpanExporter) -> TracerProvider:
    """A provider of spans that keeps all of them."""
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(spans))
    return provider


@pytest.fixture
def instrumented(provider: TracerProvider) -> Iterator[None]:
    """Traces are on."""
    DramatiqInstrumentor().instrument(tracer_provider=provider)
    yield
    DramatiqInstrumentor().uninstrument()

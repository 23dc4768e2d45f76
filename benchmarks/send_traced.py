"""Measures what traces cost a send: one thread, one by one, without the instrumentor, unsampled and sampled.

Only this process sends, and no worker consumes meanwhile. The two sides with traces have a provider of OpenTelemetry's
SDK, as `opentelemetry-instrument` makes one; a sampled span goes to its batches, and from there to an exporter that
drops it, since what a collector costs is no part of a send.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

from bandmaster.telemetry import DramatiqInstrumentor

from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

UNSAMPLED = f"{BANDMASTER}, traced, unsampled"
SAMPLED = f"{BANDMASTER}, traced, sampled"
_SAMPLERS: dict[str, Sampler] = {UNSAMPLED: ALWAYS_OFF, SAMPLED: ALWAYS_ON}


class _Dropping(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def measure(rig: Rig, side: str) -> Measured:
    """Send messages, after a few unmeasured ones that open connections and load scripts."""
    with _traced(_SAMPLERS.get(side)):
        jobs, count = rig.jobs(side), rig.sized(50, 1000, 5000)
        for number in range(20):
            jobs.count.send(number, 0)
        began = time.perf_counter()
        for number in range(count):
            jobs.count.send(number, 0)
        return {"a send": (time.perf_counter() - began) / count * 1_000_000}


@contextmanager
def _traced(sampler: Sampler | None) -> Generator[None]:
    """Turn traces on for the block; None: they stay off."""
    if sampler is None:
        yield
        return
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(BatchSpanProcessor(_Dropping()))
    instrumentor = DramatiqInstrumentor()
    instrumentor.instrument(tracer_provider=provider)
    try:
        yield
    finally:
        instrumentor.uninstrument()
        provider.shutdown()


QUESTION = Question(
    name="send_traced",
    asks="How long does a send take with traces, unsampled and sampled?",
    sides=(BANDMASTER, UNSAMPLED, SAMPLED),
    figures=(Figure("a send", "µs"),),
    measure=measure,
    targets=(
        Target(UNSAMPLED, "a send", at_most=1.05, of_side=BANDMASTER),
        Target(SAMPLED, "a send", at_most=1.15, of_side=BANDMASTER),
    ),
)

"""Measures what traces cost a send: one thread, one by one, without the instrumentor, unsampled and sampled.

Only this process sends, and no worker consumes meanwhile. The two sides with traces have a provider of OpenTelemetry's
SDK, as `opentelemetry-instrument` makes one; a sampled span goes to its batches, and from there to an exporter that
drops it, since what a collector costs is no part of a send. Two more sides send without the instrumentor, and beside
each send make a span and write its context: what OpenTelemetry itself costs, which no instrumentor can save.
"""

import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager

from opentelemetry import propagate
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler
from opentelemetry.trace import SpanKind, Tracer

from bandmaster.telemetry import DramatiqInstrumentor

from .question import BANDMASTER, Figure, Measured, Question, Target
from .rig import Rig

BARE_UNSAMPLED = f"{BANDMASTER}, beside a bare span, unsampled"
BARE_SAMPLED = f"{BANDMASTER}, beside a bare span, sampled"
UNSAMPLED = f"{BANDMASTER}, traced, unsampled"
SAMPLED = f"{BANDMASTER}, traced, sampled"
_SAMPLERS: dict[str, Sampler] = {
    UNSAMPLED: ALWAYS_OFF,
    SAMPLED: ALWAYS_ON,
    BARE_UNSAMPLED: ALWAYS_OFF,
    BARE_SAMPLED: ALWAYS_ON,
}


class _Dropping(SpanExporter):
    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        return SpanExportResult.SUCCESS


def measure(rig: Rig, side: str) -> Measured:
    """Send messages, after a few unmeasured ones that open connections and load scripts."""
    with _traced(side) as tracer:
        jobs, count = rig.jobs(side), rig.sized(50, 1000, 5000)

        def send(number: int) -> None:
            if tracer is not None:
                with tracer.start_as_current_span("send", kind=SpanKind.PRODUCER):
                    propagate.inject(dict[str, str]())
            jobs.count.send(number, 0)

        for number in range(20):
            send(number)
        began = time.perf_counter()
        for number in range(count):
            send(number)
        return {"a send": (time.perf_counter() - began) / count * 1_000_000}


@contextmanager
def _traced(side: str) -> Generator[Tracer | None]:
    """Turn a side's traces on for the block; the tracer of one that makes its spans by itself."""
    sampler = _SAMPLERS.get(side)
    if sampler is None:
        yield None
        return
    provider, instrumentor = TracerProvider(sampler=sampler), DramatiqInstrumentor()
    provider.add_span_processor(BatchSpanProcessor(_Dropping()))
    try:
        if side in (BARE_UNSAMPLED, BARE_SAMPLED):
            yield provider.get_tracer(__name__)
            return
        instrumentor.instrument(tracer_provider=provider)
        try:
            yield None
        finally:
            instrumentor.uninstrument()
    finally:
        provider.shutdown()


QUESTION = Question(
    name="send_traced",
    asks="How long does a send take with traces, unsampled and sampled?",
    sides=(BANDMASTER, BARE_UNSAMPLED, UNSAMPLED, BARE_SAMPLED, SAMPLED),
    figures=(Figure("a send", "µs"),),
    measure=measure,
    targets=(
        Target(UNSAMPLED, "a send", at_most=1.05, of_side=BANDMASTER),
        Target(SAMPLED, "a send", at_most=1.15, of_side=BANDMASTER),
    ),
)

"""The span of a pod's life: told once, by the settlement that took effect, also of a pod that is gone by then."""

from collections.abc import Iterator
from dataclasses import replace

import pytest
from lifecycle import Lifecycle, requested
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bandmaster.actors import execution_completed, execution_failed, execution_timeout
from bandmaster.actors.outcome import absent_event, event_of
from bandmaster.k8s.pods import PodStatus
from bandmaster.scheduler.model.trace_context import TraceContext
from bandmaster.scheduler.spans import use
from bandmaster.telemetry.process_spans import ProcessSpans

SAMPLED = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "a=1")
UNSAMPLED = replace(SAMPLED, traceparent=f"{SAMPLED.traceparent[:-1]}0")


@pytest.fixture
def told() -> Iterator[InMemorySpanExporter]:
    """The spans of this process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    use(ProcessSpans(provider.get_tracer("test")))
    yield exporter
    use(None)


def _pod_in(trace: TraceContext, lifecycle: Lifecycle, line: str) -> PodStatus:
    event = lifecycle.granted(requested(line))
    pod = lifecycle.pods.create(replace(lifecycle.spec(event, 1), trace=trace))
    lifecycle.queue.transitions.hand_over(event.execution_id, 1, pod.name, pod.uid)
    return pod


def _life(told: InMemorySpanExporter) -> ReadableSpan:
    (life,) = told.get_finished_spans()
    assert life.parent is not None
    assert life.parent.trace_state.to_header() == SAMPLED.tracestate
    assert f"00-{life.parent.trace_id:032x}-{life.parent.span_id:016x}-01" == SAMPLED.traceparent
    return life


def test_an_end_that_is_reported_twice_tells_of_one_life(lifecycle: Lifecycle, told: InMemorySpanExporter) -> None:
    pod = lifecycle.ended(_pod_in(SAMPLED, lifecycle, "true"))
    handed_over_ms = int(lifecycle.queue.views.meta("x")["handed_over_at"])
    for _ in range(2):
        execution_completed(event_of(pod))
    life = _life(told)
    assert life.status.is_ok or life.status.is_unset
    assert life.attributes == {
        "bandmaster.execution.id": "x",
        "bandmaster.attempt": 1,
        "bandmaster.pod": pod.name,
        "bandmaster.state": "COMPLETED",
        "bandmaster.exit_code": 0,
    }
    assert (life.start_time or 0) // 1_000_000 == handed_over_ms
    assert life.links == ()


def test_a_pod_that_was_deleted_tells_of_its_life_too(lifecycle: Lifecycle, told: InMemorySpanExporter) -> None:
    pod = _pod_in(SAMPLED, lifecycle, "sleep 600")
    execution_timeout({"execution_id": "x", "attempt": 1, "pod_uid": pod.uid})
    assert told.get_finished_spans() == (), "it lives"
    lifecycle.gone(pod)
    last = lifecycle.pods.last_words(pod.name, pod.uid)
    execution_failed(absent_event("x", 1, pod.uid, last))
    life = _life(told)
    assert (life.attributes or {})["bandmaster.state"] == "TIMEOUT"
    assert not life.status.is_ok


def test_what_is_not_sampled_is_not_told(lifecycle: Lifecycle, told: InMemorySpanExporter) -> None:
    execution_completed(event_of(lifecycle.ended(_pod_in(UNSAMPLED, lifecycle, "true"))))
    assert told.get_finished_spans() == ()

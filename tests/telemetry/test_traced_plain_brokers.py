"""Traces on Dramatiq's own brokers, without Bandmaster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dramatiq
import pytest
from dramatiq import Broker, Worker, group, pipeline
from dramatiq.brokers.stub import StubBroker
from dramatiq.worker import _WorkerThread  # pyright: ignore[reportPrivateUsage]  # what the instrumentor replaces
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from tracing import is_child, of_kind, trace_id

from bandmaster.telemetry import DramatiqInstrumentor
from bandmaster.telemetry.carrier import OPTION
from waiting import GENEROUS_MS


@pytest.fixture
def stub(instrumented: None) -> Iterator[StubBroker]:
    """A broker in memory, with a worker."""
    broker = StubBroker()
    broker.emit_after("process_boot")
    dramatiq.set_broker(broker)
    worker = Worker(broker, worker_timeout=50, worker_threads=1)
    worker.start()
    yield broker
    worker.stop()
    broker.close()


def test_an_attempt_is_a_child_of_its_send(stub: StubBroker, spans: InMemorySpanExporter) -> None:
    @dramatiq.actor
    def work(text: str) -> None:
        return None

    message = work.send_with_options(args=("secret-payload",), own={"kept": 1})
    stub.join("default", timeout=GENEROUS_MS)
    (send,), (process,) = of_kind(spans, SpanKind.PRODUCER), of_kind(spans, SpanKind.CONSUMER)
    assert (send.name, process.name) == ("send default", "process default")
    assert is_child(process, send)
    assert send.attributes == {
        "messaging.system": "dramatiq",
        "messaging.operation.name": "send",
        "messaging.operation.type": "send",
        "messaging.destination.name": "default",
        "messaging.message.id": message.message_id,
        "dramatiq.actor.name": "work",
    }
    assert message.options.keys() == {"own", OPTION}
    assert "secret-payload" not in send.to_json() + process.to_json()


def test_retries_and_delays_are_attempts_of_the_same_send(stub: StubBroker, spans: InMemorySpanExporter) -> None:
    @dramatiq.actor(max_retries=1, min_backoff=1)
    def fails() -> None:
        raise ValueError("no")

    fails.send_with_options(delay=1)
    stub.join("default", fail_fast=False, timeout=GENEROUS_MS)
    (send,), attempts = of_kind(spans, SpanKind.PRODUCER), of_kind(spans, SpanKind.CONSUMER)
    assert [is_child(each, send) for each in attempts] == [True, True]
    assert [(each.attributes or {})["dramatiq.retries"] for each in attempts] == [0, 1]
    assert [each.status.status_code for each in attempts] == [StatusCode.ERROR] * 2
    assert [each.events[0].name for each in attempts] == ["exception"] * 2


def test_pipelines_groups_and_callbacks_are_one_trace(
    stub: StubBroker, spans: InMemorySpanExporter, provider: TracerProvider
) -> None:
    @dramatiq.actor
    def add(number: int, more: int = 0) -> int:
        return number + more

    @dramatiq.actor
    def end(*numbers: object) -> None:
        return None

    with provider.get_tracer("test").start_as_current_span("request") as request:
        pipeline([add.message(1), add.message(2)]).run()
        group([add.message_with_options(args=(3,), on_success=end), add.message(4)]).run()
    stub.join("default", timeout=GENEROUS_MS)
    traced = of_kind(spans, SpanKind.PRODUCER) + of_kind(spans, SpanKind.CONSUMER)
    assert len(traced) == 2 * 5
    assert {trace_id(each) for each in traced} == {request.get_span_context().trace_id}


def test_a_context_that_cannot_be_read_fails_no_message(stub: StubBroker, spans: InMemorySpanExporter) -> None:
    @dramatiq.actor(max_retries=0)
    def work() -> None:
        return None

    for damaged in ("text", {"traceparent": 5, "tracestate": None}, {"traceparent": "00-x"}):
        work.send_with_options(trace_context=damaged)
    stub.join("default", timeout=GENEROUS_MS)
    assert [each.status.status_code for each in of_kind(spans, SpanKind.CONSUMER)] == [StatusCode.UNSET] * 3


def test_a_refused_send_is_an_error_of_its_span(stub: StubBroker, spans: InMemorySpanExporter) -> None:
    message: dramatiq.Message[None] = dramatiq.Message(
        queue_name="nowhere", actor_name="work", args=(), kwargs={}, options={}
    )
    with pytest.raises(dramatiq.errors.QueueNotFound):
        stub.enqueue(message)
    (send,) = of_kind(spans, SpanKind.PRODUCER)
    assert send.status.status_code is StatusCode.ERROR
    assert message.options == {}


def test_what_is_not_sampled_is_not_sampled_in_the_worker(
    provider: TracerProvider, spans: InMemorySpanExporter
) -> None:
    seen: list[int] = []
    broker = StubBroker()
    broker.emit_after("process_boot")

    @dramatiq.actor(broker=broker)
    def work() -> None:
        seen.append(trace.get_current_span().get_span_context().trace_id)

    try:
        DramatiqInstrumentor().instrument(tracer_provider=TracerProvider(sampler=ALWAYS_OFF))
        sent = work.send()
        DramatiqInstrumentor().uninstrument()
        DramatiqInstrumentor().instrument(tracer_provider=provider)
        worker = Worker(broker, worker_timeout=50, worker_threads=1)
        worker.start()
        broker.join("default", timeout=GENEROUS_MS)
        worker.stop()
    finally:
        DramatiqInstrumentor().uninstrument()
        broker.close()
    assert [f"{each:032x}" for each in seen] == [sent.options[OPTION]["traceparent"].split("-")[1]]
    assert spans.get_finished_spans() == ()


def test_a_warning_names_the_package_that_destroys_options(
    provider: TracerProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "opentelemetry_instrumentation_dramatiq-0.1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: opentelemetry-instrumentation-dramatiq\nVersion: 0.1\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    DramatiqInstrumentor().instrument(tracer_provider=provider)
    DramatiqInstrumentor().uninstrument()
    (warning,) = (each for each in caplog.records if each.name.startswith("bandmaster.telemetry"))
    assert "opentelemetry-instrumentation-dramatiq" in warning.getMessage()


def test_uninstrument_restores_everything(provider: TracerProvider) -> None:
    places: list[tuple[Any, str]] = [
        (StubBroker, "enqueue"),
        (Broker, "__init__"),
        (Broker, "emit_before"),
        (Broker, "emit_after"),
    ]
    places.append((_WorkerThread, "process_message"))
    before = [kind.__dict__[name] for kind, name in places]
    DramatiqInstrumentor().instrument(tracer_provider=provider)
    assert all(kind.__dict__[name] is not was for (kind, name), was in zip(places, before, strict=True))
    DramatiqInstrumentor().uninstrument()
    assert [kind.__dict__[name] for kind, name in places] == before

"""Traces of gated executions: through Redis, with wait, admission and attempt."""

from collections.abc import Iterator

import dramatiq
import pytest
import redis
from dramatiq.brokers.stub import StubBroker
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from tracing import is_child, of_kind

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS


@pytest.fixture
def broker(redis_url: str, redis_client: redis.Redis, instrumented: None) -> Iterator[BandedRedisBroker]:
    """The broker whose lanes are pulled."""
    broker = BandedRedisBroker(client=client_of(redis_url))
    dramatiq.set_broker(broker)
    broker.emit_after("process_boot")
    yield broker
    broker.close()
    dramatiq.set_broker(StubBroker())


def _run(broker: BandedRedisBroker) -> None:
    worker = dramatiq.Worker(broker, worker_timeout=50, worker_threads=2)
    worker.start()
    try:
        broker.join("default", timeout=GENEROUS_MS)
    finally:
        worker.stop()


def test_attempts_of_an_execution_say_how_it_waited(broker: BandedRedisBroker, spans: InMemorySpanExporter) -> None:
    @dramatiq.actor(band="HIGH", max_retries=1, min_backoff=1)
    def fails() -> None:
        raise ValueError("no")

    message = fails.send()
    _run(broker)
    (send,), attempts = of_kind(spans, SpanKind.PRODUCER), of_kind(spans, SpanKind.CONSUMER)
    assert [is_child(each, send) for each in attempts] == [True, True]
    for number, attempt in enumerate(attempts, start=1):
        attributes = attempt.attributes or {}
        assert attributes["bandmaster.execution.id"] == message.options["execution_id"]
        assert (attributes["bandmaster.lane"], attributes["bandmaster.attempt"]) == ("default", number)
        assert isinstance(attributes["bandmaster.wait_ms"], int)
        times = {each.name: each.timestamp for each in attempt.events}
        assert times["bandmaster.admitted"] <= (attempt.start_time or 0)


def test_each_message_of_a_batch_has_a_span(broker: BandedRedisBroker, spans: InMemorySpanExporter) -> None:
    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        return None

    broker.send_many(work.message(number) for number in range(3))
    _run(broker)
    created, processed = of_kind(spans, SpanKind.PRODUCER), of_kind(spans, SpanKind.CONSUMER)
    assert [each.name for each in created] == ["create default"] * 3
    assert sum(is_child(child, parent) for child in processed for parent in created) == 3

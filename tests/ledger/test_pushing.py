"""What is pushed over OTLP is what is served, once a queue, and a collector that hangs holds up nobody."""

import signal
import socket
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest
from metrics_process import Start
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.sdk.metrics.export import MetricExportResult
from otlp_receiving import receiving_grpc, receiving_http
from scraped import Series, port_of, scrape_port, value

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.collecting import FiguresCollector
from bandmaster.ledger.metrics.pushing import Pushing
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import GENEROUS_SECONDS, wait_until

OF_SEED = {
    "queue.depth": "queue_depth",
    "queue.active": "queue_active",
    "queue.enqueue.total": "queue_enqueue",
    "queue.schedule.total": "queue_schedule",
    "queue.wait_time": "queue_wait_time",
}
CHANGES_BY_ITSELF = (
    *("bandmaster_oldest_wait_seconds", "bandmaster_standstill_seconds", "bandmaster_startable_wait_seconds"),
    "bandmaster_waiting_age_seconds_bucket",
)


class Received:
    """The requests that a collector got; the last one as a scrape would tell it."""

    def __init__(self) -> None:
        self.requests: list[Any] = []

    def take(self, body: bytes) -> None:
        self.requests.append(ExportMetricsServiceRequest.FromString(body))

    def resources(self) -> set[tuple[tuple[str, str], ...]]:
        """Who told them."""
        resources = [each.resource.attributes for request in self.requests for each in request.resource_metrics]
        return {tuple((one.key, one.value.string_value) for one in each) for each in resources}

    def metrics(self) -> list[Any]:
        """The metrics of the last request."""
        if not self.requests:
            return []
        (of_resource,) = self.requests[-1].resource_metrics
        (of_scope,) = of_resource.scope_metrics
        return list(of_scope.metrics)

    def begun(self) -> set[int]:
        """From when on sums and histograms count."""
        points = [
            point
            for request in self.requests
            for of_resource in request.resource_metrics
            for of_scope in of_resource.scope_metrics
            for metric in of_scope.metrics
            for point in (*metric.sum.data_points, *metric.histogram.data_points)
        ]
        return {point.start_time_unix_nano for point in points}

    def series(self) -> Series:
        """The last request, by the names that Prometheus has."""
        found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
        for metric in self.metrics():
            name: str = OF_SEED.get(metric.name) or metric.name
            name += "_total" if metric.sum.is_monotonic else ""
            for point in (*metric.gauge.data_points, *metric.sum.data_points):
                found[name, labels_of(point)] = point.as_int if point.HasField("as_int") else point.as_double
            for point in metric.histogram.data_points:
                assert not point.HasField("max"), "nobody kept it"
                found[f"{name}_count", labels_of(point)] = point.count
                found[f"{name}_sum", labels_of(point)] = point.sum
                so_far = 0
                bounds = [*map(str, point.explicit_bounds), "+Inf"]
                for bound, count in zip(bounds, point.bucket_counts, strict=True):
                    so_far += count
                    found[f"{name}_bucket", labels_of(point) | {("le", bound)}] = so_far
        return found


def labels_of(point: Any) -> frozenset[tuple[str, str]]:
    return frozenset((one.key, one.value.string_value) for one in point.attributes)


def lasting(series: Series) -> Series:
    return {one: number for one, number in series.items() if one[0] not in CHANGES_BY_ITSELF}


@contextmanager
def receiver(protocol: str) -> Generator[tuple[Received, dict[str, str]]]:
    received = Received()
    with (receiving_grpc if protocol == "grpc" else receiving_http)(received.take) as address:
        yield (
            received,
            {
                "OTEL_EXPORTER_OTLP_ENDPOINT": address,
                "OTEL_EXPORTER_OTLP_PROTOCOL": protocol,
                "OTEL_METRIC_EXPORT_INTERVAL": "200",
            },
        )


@pytest.mark.slow
@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_what_is_pushed_is_what_is_served_whichever_process_pushes(
    protocol: str, queue: ExecutionQueueService, start_serving: Start
) -> None:
    for number in range(7):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"e-{number}", action="resize", command=("true",)))
    for _ in range(3):
        assert queue.try_schedule()
    queue.release("e-0")
    with receiver(protocol) as (received, variables):
        process, log = start_serving("0", **variables)
        port = port_of(log)
        wait_until(lambda: value(received.series(), "queue_enqueue_total") == 7, what="all that was accepted")
        wait_until(lambda: lasting(received.series()) == lasting(scrape_port(port)), what="the same numbers")
        assert value(received.series(), "bandmaster_waiting", lane="executions", priority="NORMAL") == 4
        assert {metric.name for metric in received.metrics()} >= OF_SEED.keys()
        assert received.resources() == {(("service.name", "bandmaster"), ("service.instance.id", "exec_queue"))}
        if protocol == "grpc":
            return
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=GENEROUS_SECONDS) == 0, log.read_text()
        queue.release("e-1")
        start_serving("0", **variables)
        wait_until(
            lambda: value(received.series(), "bandmaster_turnaround_seconds_count", lane="executions") == 2,
            what="what came after the first process",
        )
        assert len(received.resources()) == 1, "another instance would be another series"
        assert len(received.begun()) == 1, "another beginning would be a restart at 0"
        assert 0 not in received.begun()


def test_who_does_not_consume_pushes_nothing(
    queue: ExecutionQueueService, consumer: Consumer, database: Database
) -> None:
    asked, exported = list[bool](), list[object]()

    class Exporter:
        """Takes all."""

        def export(self, data: object) -> MetricExportResult:
            exported.append(data)
            pushing.stop()
            return MetricExportResult.SUCCESS

        def shutdown(self) -> None:
            """Nothing is open."""

    def consumes() -> bool:
        asked.append(len(asked) == 3)
        return asked[-1]

    taking: Any = Exporter()
    collector = FiguresCollector(queue, database, gates=1)
    pushing = Pushing(collector, database, taking, queue="q", consumes=consumes, interval_seconds=0.001)
    pushing.run()
    assert (asked, len(exported)) == ([False, False, False, True], 1)


@pytest.mark.slow
def test_a_collector_that_hangs_holds_up_neither_the_consumer_nor_its_end(
    queue: ExecutionQueueService, start_serving: Start
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        process, log = start_serving(
            "0",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{silent.getsockname()[1]}",
            OTEL_EXPORTER_OTLP_TIMEOUT="600",
            OTEL_METRIC_EXPORT_INTERVAL="50",
        )
        silent.settimeout(60)
        connection, _ = silent.accept()
        with connection:
            port = port_of(log)
            queue.enqueue(ExecutionRequestedEvent(execution_id="a", action="resize", command=("true",)))
            wait_until(lambda: value(scrape_port(port), "queue_enqueue_total") == 1, what="the entry")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=GENEROUS_SECONDS) == 0, log.read_text()

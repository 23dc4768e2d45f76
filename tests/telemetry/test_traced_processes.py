"""`opentelemetry-instrument` and a Dramatiq worker, as real processes, export to a receiver over OTLP/HTTP."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_receiving import receiving_http

from waiting import wait_until

APPLICATION = """
import os, sys, dramatiq
from bandmaster import BandedRedisBroker
dramatiq.set_broker(BandedRedisBroker(url=os.environ["URL"]))

@dramatiq.actor(band="HIGH")
def work(number):
    pass

if __name__ == "__main__":
    work.send_with_options(args=(1,), delay=50)
"""


@pytest.fixture
def received() -> Iterator[tuple[str, list[Any]]]:
    """The address of a receiver of spans, and what it has received."""
    spans: list[Any] = []

    def take(body: bytes) -> None:
        request: Any = ExportTraceServiceRequest.FromString(body)
        spans.extend(span for each in request.resource_spans for scope in each.scope_spans for span in scope.spans)

    with receiving_http(take) as address:
        yield address, spans


@pytest.mark.usefixtures("redis_client")
def test_one_trace_goes_from_the_sending_process_to_the_worker(
    redis_url: str, received: tuple[str, list[Any]], tmp_path: Path
) -> None:
    address, spans = received
    (tmp_path / "traced_app.py").write_text(APPLICATION)
    programs = Path(sys.executable).parent
    environment = os.environ | {
        "URL": redis_url,
        "PYTHONPATH": str(tmp_path),
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_METRICS_EXPORTER": "none",
        "OTEL_LOGS_EXPORTER": "none",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_EXPORTER_OTLP_ENDPOINT": address,
        "OTEL_BSP_SCHEDULE_DELAY": "100",
    }
    traced = [programs / "opentelemetry-instrument"]
    subprocess.run([*traced, sys.executable, "traced_app.py"], cwd=tmp_path, env=environment, check=True, timeout=60)
    worker = subprocess.Popen(
        [*traced, programs / "dramatiq", "traced_app", "--processes", "1", "--threads", "1"],
        cwd=tmp_path,
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process = wait_until(
            lambda: [each for each in spans if each.name == "process default"], what="the attempt's span"
        )
    finally:
        worker.terminate()
        worker.wait(timeout=60)
    (send,) = [each for each in spans if each.name == "send default"]
    assert [(each.trace_id, each.parent_span_id) for each in process] == [(send.trace_id, send.span_id)]

"""Real processes under `opentelemetry-instrument`, and a receiver of their spans."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from otlp_receiving import receiving_http

PROGRAMS = Path(sys.executable).parent


@dataclass(slots=True)
class Traced:
    """Where processes export to, and what was received."""

    folder: Path
    variables: Mapping[str, str]
    spans: list[Any] = field(default_factory=list[Any])

    def environment(self, **own: str) -> dict[str, str]:
        """The environment of a process that exports here."""
        return {**os.environ, **self.variables, **own}

    def run(self, *command: str, **own: str) -> str:
        """Run a process to its end; what it printed."""
        done = subprocess.run(
            [PROGRAMS / "opentelemetry-instrument", *command],
            cwd=self.folder,
            env=self.environment(**own),
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
        return done.stdout

    @contextmanager
    def running(self, *command: str, **own: str) -> Generator[None]:
        """A process during the block; afterwards all that it told is received."""
        process = subprocess.Popen(
            [PROGRAMS / "opentelemetry-instrument", *command],
            cwd=self.folder,
            env=self.environment(**own),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            yield
        finally:
            process.terminate()
            process.wait(timeout=60)

    def named(self, name: str, trace_id: bytes | None = None) -> list[Any]:
        """The spans of a name, of one trace or of all."""
        return [each for each in self.spans if each.name == name and trace_id in (None, each.trace_id)]


@contextmanager
def receiving(folder: Path, **variables: str) -> Generator[Traced]:
    """Receive what processes in a folder export over OTLP/HTTP."""
    traced = Traced(folder, variables)

    def take(body: bytes) -> None:
        request: Any = ExportTraceServiceRequest.FromString(body)
        traced.spans.extend(s for each in request.resource_spans for scope in each.scope_spans for s in scope.spans)

    with receiving_http(take) as address:
        traced.variables = {
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "none",
            "OTEL_LOGS_EXPORTER": "none",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_EXPORTER_OTLP_ENDPOINT": address,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
            **variables,
        }
        yield traced

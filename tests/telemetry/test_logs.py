"""Log records under a span name it, those of other libraries in our processes, too."""

import io
import json
import logging

import pytest
from logged import context_of
from opentelemetry.sdk.trace import TracerProvider

from bandmaster.configs.areas import LoggingSettings
from bandmaster.configs.logger import Logger
from bandmaster.configs.logging import configure_logging


def test_a_record_under_a_span_names_it(provider: TracerProvider, caplog: pytest.LogCaptureFixture) -> None:
    with provider.get_tracer("test").start_as_current_span("work") as span:
        Logger("bandmaster.some.module").warning("under", execution_id="a")
    Logger("bandmaster.some.module").warning("after")
    ids = span.get_span_context()
    assert context_of(caplog, "under") == {
        "event": "under",
        "execution_id": "a",
        "trace_id": f"{ids.trace_id:032x}",
        "span_id": f"{ids.span_id:016x}",
    }
    assert context_of(caplog, "after") == {"event": "after"}


def test_our_processes_name_it_in_records_of_other_libraries(
    provider: TracerProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, stream = logging.getLogger(), io.StringIO()
    monkeypatch.setattr(root, "handlers", [])
    monkeypatch.setattr(root, "level", root.level)
    configure_logging(LoggingSettings(level="INFO", format="json"), stream=stream)
    with provider.get_tracer("test").start_as_current_span("work") as span:
        logging.getLogger("some.library").warning("said")
    said = json.loads(stream.getvalue())
    assert said["trace_id"] == f"{span.get_span_context().trace_id:032x}"

"""Without traces nothing is added to what is sent; beside another instrumentor, ours says what that does."""

import subprocess
import sys
from pathlib import Path

import pytest
import redis
from dramatiq import Message
from dramatiq.brokers.stub import StubBroker
from logged import context_of
from opentelemetry.baggage import set_baggage
from opentelemetry.context import attach, detach
from opentelemetry.trace import NoOpTracerProvider

from bandmaster.middleware.intake.envelope import decoded
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.spans import spans
from bandmaster.telemetry import DramatiqInstrumentor

pytestmark = pytest.mark.slow

SENDER = """
import sys
if sys.argv[1:] == ["not installed"]:
    sys.modules["opentelemetry"] = None  # whoever imports it is told that there is none
import bandmaster.actors, bandmaster.k8s.backend, bandmaster.scheduler.process
from bandmaster.scheduler.spans import spans
bandmaster.actors.execution_requested.send({"execution_id": "x", "command": ["true"]})
print(spans().is_on, "bandmaster.telemetry" in sys.modules, "opentelemetry.instrumentation" in sys.modules)
"""


@pytest.mark.parametrize("argument", ["installed", "not installed"])
def test_a_process_that_is_not_traced_adds_nothing_to_what_it_sends(
    redis_client: redis.Redis, redis_url: str, tmp_path: Path, argument: str
) -> None:
    environment = {"BANDMASTER_REDIS__URL": redis_url, "BANDMASTER_PATHS__VAR_DIR": str(tmp_path)}
    command = [sys.executable, "-c", SENDER, argument]
    assert subprocess.check_output(command, env=environment, text=True, cwd=tmp_path) == "False False False\n"
    (grant,) = ExecutionQueueService(redis_client).transitions.admit((DEFAULT_LANE,), 1).grants
    assert grant.message is not None
    assert decoded(grant.message).options == {"execution_id": "x"}
    assert grant.event is not None
    assert b"trace" not in grant.event


def test_without_a_provider_of_spans_nothing_is_added_to_a_message() -> None:
    broker = StubBroker()
    broker.declare_queue("default")
    DramatiqInstrumentor().instrument(tracer_provider=NoOpTracerProvider())
    token = attach(set_baggage("tenant", "acme"))
    try:
        message: Message[None] = Message("default", "work", (), {}, {})
        broker.enqueue(message)
    finally:
        detach(token)
        DramatiqInstrumentor().uninstrument()
    assert message.options == {}


@pytest.mark.usefixtures("instrumented")
def test_traces_that_are_turned_off_leave_nothing_behind() -> None:
    assert spans().is_on
    DramatiqInstrumentor().uninstrument()
    assert not spans().is_on


def test_the_other_instrumentor_is_warned_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    metadata = tmp_path / "opentelemetry_instrumentation_dramatiq-0.3.0.dist-info" / "METADATA"
    metadata.parent.mkdir()
    metadata.write_text("Metadata-Version: 2.1\nName: opentelemetry-instrumentation-dramatiq\nVersion: 0.3.0\n")
    _turn_on_and_off()
    assert "other_instrumentor_installed" not in caplog.text
    monkeypatch.syspath_prepend(str(tmp_path))
    _turn_on_and_off()
    said = context_of(caplog, "other_instrumentor_installed")
    assert said["package"] == "opentelemetry-instrumentation-dramatiq"
    assert "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS=dramatiq" in said["remedy"]


def _turn_on_and_off() -> None:
    DramatiqInstrumentor().instrument()
    DramatiqInstrumentor().uninstrument()

"""One trace from a send to the end of its pod, over real processes: sender, worker, pod, and a receiver of OTLP."""

import json
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import redis
from processes import PROGRAMS, Traced, receiving

from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.views import Views
from waiting import wait_until

pytestmark = pytest.mark.slow

SENDER = """
import os, redis
from opentelemetry import trace
from bandmaster import ExecutionQueueService
from bandmaster.actors import execution_requested

def request(execution_id):
    return {"execution_id": execution_id, "command": ["sh", "-c", "echo $TRACEPARENT; exit 3"]}

execution_requested.send(request("sent"))
with trace.get_tracer("app").start_as_current_span("order"):
    ExecutionQueueService(redis.Redis.from_url(os.environ["BANDMASTER_REDIS__URL"])).enqueue(request("enqueued"))
unsampled = trace.SpanContext(0xABC, 0xDEF, is_remote=True)
with trace.use_span(trace.NonRecordingSpan(unsampled)):
    execution_requested.send(request("unsampled"))
"""
UNSAMPLED = (0xABC).to_bytes(16)
WORKER = (str(PROGRAMS / "dramatiq"), "bandmaster.actors", "--processes", "1", "--threads", "2")


@pytest.fixture
def traced(redis_url: str, tmp_path: Path) -> Generator[Traced]:
    with receiving(
        tmp_path,
        BANDMASTER_REDIS__URL=redis_url,
        BANDMASTER_PATHS__VAR_DIR=str(tmp_path / "var"),
        BANDMASTER_LEASES__POD_LEASE_TTL_MS="6000",
    ) as traced:
        yield traced


def _printed(views: Views, execution_id: str) -> str:
    """Wait until an execution has ended; what its program printed."""
    result = wait_until(lambda: views.result(execution_id), what=f"the end of {execution_id}")
    assert result is not None
    return json.loads(result)["output_tail"].strip()


def _attributes(span: Any) -> dict[str, str | int]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


def test_one_trace_goes_from_the_send_to_the_end_of_the_pod_if_it_is_sampled(
    redis_client: redis.Redis, traced: Traced
) -> None:
    views = ExecutionQueueService(redis_client).views
    traced.run(sys.executable, "-c", SENDER)
    with traced.running(*WORKER):
        printed = {name: _printed(views, name) for name in ("sent", "enqueued", "unsampled")}
        wait_until(lambda: len(traced.named("run pod")) == 2, what="the spans of both pods' lives")
    _, trace_id, _, flags = printed["unsampled"].split("-")
    assert (bytes.fromhex(trace_id), flags) == (UNSAMPLED, "00")
    assert [each.name for each in traced.spans if each.trace_id == UNSAMPLED] == []
    (sent,) = [each for each in traced.named("send executions") if each.trace_id != UNSAMPLED]
    (order,) = traced.named("order")
    for name, root in (("sent", sent), ("enqueued", order)):
        _check_trace(traced, root, name, printed[name])


def _check_trace(traced: Traced, root: Any, execution_id: str, printed: str) -> None:
    """Check the trace of an execution, whose first span is the root."""
    (attempt,) = traced.named("process executions", root.trace_id)
    (creation,) = traced.named("create pod", root.trace_id)
    (life,) = traced.named("run pod", root.trace_id)
    assert attempt.parent_span_id == root.span_id
    assert (creation.parent_span_id, life.parent_span_id) == (attempt.span_id, attempt.span_id)
    version, trace_id, parent_id, flags = printed.split("-")
    assert (version, trace_id, parent_id) == ("00", root.trace_id.hex(), attempt.span_id.hex())
    assert int(flags, 16) & 1, "sampled"
    told = _attributes(life)
    assert told["bandmaster.execution.id"] == execution_id
    assert (told["bandmaster.attempt"], told["bandmaster.state"], told["bandmaster.exit_code"]) == (1, "FAILED", 3)
    assert life.status.message == "Error"
    assert [each.name for each in life.events] == ["bandmaster.pod.started"]
    (link,) = life.links
    settlers = traced.named("process lifecycle")
    assert (link.trace_id, link.span_id) in [(each.trace_id, each.span_id) for each in settlers]
    times = {each.name: each.time_unix_nano for each in attempt.events}
    assert times["bandmaster.admitted"] <= attempt.start_time_unix_nano <= creation.start_time_unix_nano
    # What was enqueued as an event has waited since then, not since its message was made.
    assert times["bandmaster.sent"] <= root.end_time_unix_nano
    assert life.start_time_unix_nano <= life.end_time_unix_nano

"""The context of a trace in a request: what is valid is kept, what is not is left out, and nothing is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.trace_context import TraceContext, read_environment, read_trace

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
LATER = "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-what-comes"
WRONG = [
    None,
    1,
    "",
    "nonsense",
    PARENT.upper(),
    f"{PARENT} ",
    f"{PARENT}\n",
    f"{PARENT}-more",
    f"ff{PARENT[2:]}",
    PARENT.replace("4bf92f3577b34da6a3ce929d0e0e4736", "0" * 32),
    PARENT.replace("00f067aa0ba902b7", "0" * 16),
    f"{LATER}{'x' * 256}",
]


CONTEXTS = (
    (PARENT, None, TraceContext(PARENT)),
    (PARENT, "a=1, b@c=$(HOME) 2 ,", TraceContext(PARENT, "a=1,b@c=$(HOME) 2")),
    (PARENT, "a", TraceContext(PARENT)),
    (PARENT, "a=\n", TraceContext(PARENT)),
    (PARENT, "a=é", TraceContext(PARENT)),
    (PARENT, f"a={'x' * 512}", TraceContext(PARENT)),
    (PARENT, ",".join(f"k{number}=1" for number in range(33)), TraceContext(PARENT)),
    (LATER, None, TraceContext(PARENT)),
    *((wrong, "a=1", None) for wrong in WRONG),
)


def test_a_context_is_read_as_far_as_it_is_valid(subtests: pytest.Subtests) -> None:
    for traceparent, tracestate, read in CONTEXTS:
        with subtests.test(traceparent=traceparent, tracestate=tracestate, read=read):
            assert read_trace(traceparent, tracestate) == read


@given(st.text(), st.text())
def test_whatever_comes_with_a_request_is_no_reason_to_refuse_it(traceparent: str, tracestate: str) -> None:
    metadata = {"traceparent": traceparent, "tracestate": tracestate}
    event = ExecutionRequestedEvent.from_any({"command": ["true"], "metadata": metadata})
    found = read_trace(event.metadata.traceparent, event.metadata.tracestate)
    assert found == read_trace(traceparent, tracestate)
    assert ExecutionRequestedEvent.from_json(event.to_json()) == event


def test_an_event_leaves_out_what_is_not_valid(subtests: pytest.Subtests) -> None:
    for wrong in [value for value in WRONG if value is not None]:
        with subtests.test(wrong=wrong):
            event = ExecutionRequestedEvent.from_any(
                {"command": ["true"], "metadata": {"traceparent": wrong, "tracestate": wrong}}
            )
            assert (event.metadata.traceparent, event.metadata.tracestate) == (None, None)
            assert b"trace" not in event.to_json()


def test_the_variables_of_a_program_name_the_same_context() -> None:
    for context in (TraceContext(PARENT), TraceContext(PARENT, "a=1")):
        assert read_environment(context.environment) == context
    assert read_environment({}) is None

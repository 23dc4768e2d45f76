"""The spans of a process, as far as parts of Bandmaster that know no OpenTelemetry need them.

In the flow: `bandmaster.telemetry` puts its own in here while traces are on. Until then, and without its extra, `spans`
returns ones that do nothing, so that callers need not ask. They live in this process only.
"""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import ClassVar, Final

from .events import ExecutionRequestedEvent
from .model.trace_context import TraceContext

Attributes = Mapping[str, str | int]
EXECUTION: Final = "bandmaster.execution.id"
LANE: Final = "bandmaster.lane"
ATTEMPT: Final = "bandmaster.attempt"
POD: Final = "bandmaster.pod"
STATE: Final = "bandmaster.state"
EXIT_CODE: Final = "bandmaster.exit_code"


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """A span of what is over when it is told, with times in unix seconds."""

    name: str
    parent: TraceContext
    """The span that it was a part of, which another process may have had."""
    began_at: float
    ended_at: float
    attributes: Attributes
    events: Mapping[str, float] = field(default_factory=dict[str, float])
    """Moments within it, by name."""
    error: str = ""
    """Why it ended badly, in a word; empty: it did not."""


class Spans:
    """None: what a process has while its traces are off."""

    is_on: ClassVar[bool] = False
    """Whether there are any, so that it is worth while to find out what they would say."""

    def current(self) -> TraceContext | None:
        """Return the span in which the calling code runs; None: there is none."""
        return None

    def step(self, name: str, attributes: Attributes) -> AbstractContextManager[None]:
        """Make what a `with` block does a span within the current one.

        Args:
            name: The span's name.
            attributes: The span's attributes.
        """
        return nullcontext()

    def wants(self, parent: TraceContext) -> bool:
        """Whether a span within this one would be kept."""
        return False

    def tell(self, past: Past) -> None:
        """Tell a span that is over; it has a link to the current span, whose process tells it."""


_NONE = Spans()
_spans = _NONE


def spans() -> Spans:
    """Return this process's spans."""
    return _spans


def use(those: Spans | None) -> None:
    """Take these from now on; None: none."""
    global _spans  # the one place of a process where traces are turned on and off
    _spans = those or _NONE


def traced(event: ExecutionRequestedEvent, otherwise: TraceContext | None = None) -> ExecutionRequestedEvent:
    """Return the request as a part of the current span's trace, unless it names a trace itself.

    Args:
        event: The request.
        otherwise: The span to take if there is no current one.
    """
    if event.metadata.traceparent is not None:
        return event
    found = _spans.current() or otherwise
    if found is None:
        return event
    of_trace = {"traceparent": found.traceparent, "tracestate": found.tracestate or None}
    return event.model_copy(update={"metadata": event.metadata.model_copy(update=of_trace)})

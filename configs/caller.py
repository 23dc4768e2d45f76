"""The span of the program that started this one, in the variables that OpenTelemetry names, and no settings of ours.

In the flow: a command that sends executions asks, so that they belong to the trace of the job that it is a part of.
Whoever asks reads what the values say: here they are texts that anybody may have set.
"""

import os
from typing import Final

_VARIABLES: Final = ("TRACEPARENT", "TRACESTATE")


def span_of_caller() -> dict[str, str]:
    """The variables that there are, by name."""
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ}

"""Traces of messages by OpenTelemetry, from the send to the end of each attempt; needs the extra `otel`.

``opentelemetry-instrument dramatiq my_app`` finds the instrumentor by its entry point; without that command,
``DramatiqInstrumentor().instrument()`` does the same. `docs/tracing.md` shows both. No other package imports this one,
and without it nothing of Bandmaster or Dramatiq behaves differently.
"""

from .instrumentor import DramatiqInstrumentor

__all__ = ["DramatiqInstrumentor"]

"""Where and how often metrics are pushed over OTLP: the variables that OpenTelemetry names, and no settings of ours.

In the flow: the process `ledger` asks at its start. What else its exporters heed (headers, certificates, timeouts) they
read themselves.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from .errors import SettingsError

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTERS: Final = "OTEL_METRICS_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"
_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_DEFAULT_MS: Final = "60000"
HTTP: Final = "http/protobuf"
GRPC: Final = "grpc"


@dataclass(frozen=True, slots=True)
class OtlpPushing:
    """How metrics are pushed."""

    protocol: str
    """`http/protobuf` or `grpc`."""
    interval_seconds: float
    """How long to wait between two pushes."""


def otlp_pushing(environment: Mapping[str, str] | None = None) -> OtlpPushing | None:
    """Read the variables.

    Args:
        environment: Instead of this process's.

    Returns:
        How; None: no endpoint is named, or another exporter than OTLP's, and nothing is pushed.

    Raises:
        SettingsError: If a value is not allowed.
    """
    given = os.environ if environment is None else environment
    exporters = [name.strip() for name in (given.get(_EXPORTERS) or "otlp").split(",")]
    is_disabled = given.get(_DISABLED, "").strip().lower() == "true"
    if is_disabled or "otlp" not in exporters or not any(given.get(name) for name in _ENDPOINTS):
        return None
    name, protocol = next(((name, given[name]) for name in _PROTOCOLS if given.get(name)), ("", HTTP))
    if protocol not in (HTTP, GRPC):
        raise SettingsError(f"environment variable {name}: {protocol!r} is not spoken here; allowed: {HTTP}, {GRPC}")
    interval_ms = given.get(_INTERVAL) or _DEFAULT_MS
    if not interval_ms.isdecimal() or int(interval_ms) == 0:
        raise SettingsError(f"environment variable {_INTERVAL}: {interval_ms!r} is no number of milliseconds above 0")
    return OtlpPushing(protocol, int(interval_ms) / 1000)

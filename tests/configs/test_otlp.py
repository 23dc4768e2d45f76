"""Metrics are pushed only where the variables of OpenTelemetry name an endpoint, and as they say."""

import pytest

from bandmaster.configs.errors import SettingsError
from bandmaster.configs.otlp import OtlpPushing, otlp_pushing

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"OTEL_EXPORTER_OTLP_ENDPOINT": ""},
        {"OTEL_METRICS_EXPORTER": "otlp"},
        ENDPOINT | {"OTEL_METRICS_EXPORTER": "none"},
        ENDPOINT | {"OTEL_METRICS_EXPORTER": "prometheus"},
        ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"},
    ],
)
def test_nothing_is_pushed_unless_it_is_said(environment: dict[str, str]) -> None:
    assert otlp_pushing(environment) is None


def test_the_variables_of_metrics_go_before_those_of_all() -> None:
    assert otlp_pushing(ENDPOINT) == OtlpPushing("http/protobuf", 60)
    assert otlp_pushing(
        {
            "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://collector:4317",
            "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc",
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_METRICS_EXPORTER": "console, otlp",
            "OTEL_METRIC_EXPORT_INTERVAL": "1500",
        }
    ) == OtlpPushing("grpc", 1.5)


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "1m"),
        ("OTEL_METRIC_EXPORT_INTERVAL", "0"),
    ],
)
def test_a_wrong_value_is_named(variable: str, wrong: str) -> None:
    with pytest.raises(SettingsError, match=f"environment variable {variable}: '{wrong}' is"):
        otlp_pushing(ENDPOINT | {variable: wrong})

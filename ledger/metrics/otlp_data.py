"""Makes OpenTelemetry's data out of the families that `/metrics` serves, so that both tell the same numbers.

In the flow: `pushing.py` exports it. It is built by hand, since an SDK's own counters and histograms restart at 0 with
their process; these are cumulative from the ledger's first entry on, whichever process pushes them. Nothing here does
I/O.
"""

from collections.abc import Iterable, Sequence
from importlib.metadata import version
from itertools import pairwise
from typing import Any, Final

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.samples import Sample

_NAMES: Final = {
    "queue_depth": "queue.depth",
    "queue_active": "queue.active",
    "queue_enqueue": "queue.enqueue.total",
    "queue_schedule": "queue.schedule.total",
    "queue_wait_time": "queue.wait_time",
}
"""The names of the lane of events' metrics; the others have the same name everywhere."""
_UP_AND_DOWN: Final = ("queue_depth", "queue_active")
"""Sums that may fall: they are such instruments by their contract."""
_CUMULATIVE: Final = AggregationTemporality.CUMULATIVE


def metrics_data(families: Iterable[Family], resource: Resource, *, begun_ns: int, now_ns: int) -> MetricsData:
    """Make what an exporter takes.

    Args:
        families: Those of a scrape.
        resource: Who tells it.
        begun_ns: When totals began to count, in unix nanoseconds; always the same for one ledger.
        now_ns: When the families were read.
    """
    metrics = [_metric(family, begun_ns, now_ns) for family in families if family.samples]
    scope = InstrumentationScope("bandmaster", version("bandmaster"))
    return MetricsData([ResourceMetrics(resource, [ScopeMetrics(scope, metrics, "")], "")])


def _metric(family: Family, begun_ns: int, now_ns: int) -> Metric:
    name = _NAMES.get(family.name, family.name)
    if family.type == "histogram":
        return Metric(name, family.documentation, "", Histogram(_histograms(family, begun_ns, now_ns), _CUMULATIVE))
    points = [NumberDataPoint(sample.labels, begun_ns, now_ns, _number(sample)) for sample in family.samples]
    if family.type == "counter":
        return Metric(name, family.documentation, "", Sum(points, _CUMULATIVE, is_monotonic=True))
    if family.name in _UP_AND_DOWN:
        return Metric(name, family.documentation, "", Sum(points, _CUMULATIVE, is_monotonic=False))
    # OTLP has no histogram of a moment: each bucket is a gauge, as in Prometheus.
    name = family.samples[0].name if family.type == "gaugehistogram" else name
    return Metric(name, family.documentation, "", Gauge(points))


def _histograms(family: Family, begun_ns: int, now_ns: int) -> list[HistogramDataPoint]:
    series: dict[tuple[tuple[str, str], ...], list[Sample]] = {}
    for sample in family.samples:
        labels = tuple((name, value) for name, value in sample.labels.items() if name != "le")
        series.setdefault(labels, []).append(sample)
    return [_histogram(family.name, dict(labels), found, begun_ns, now_ns) for labels, found in series.items()]


def _histogram(
    name: str, labels: dict[str, str], samples: Sequence[Sample], begun_ns: int, now_ns: int
) -> HistogramDataPoint:
    buckets = [sample for sample in samples if sample.name == f"{name}_bucket"]
    up_to = [0, *(int(sample.value) for sample in buckets)]
    (total,) = [sample.value for sample in samples if sample.name == f"{name}_sum"]
    unknown: Any = None  # the least and the greatest are optional, and nobody kept them
    return HistogramDataPoint(
        attributes=labels,
        start_time_unix_nano=begun_ns,
        time_unix_nano=now_ns,
        count=up_to[-1],
        sum=total,
        bucket_counts=[after - before for before, after in pairwise(up_to)],
        explicit_bounds=[float(sample.labels["le"]) for sample in buckets[:-1]],
        min=unknown,
        max=unknown,
    )


def _number(sample: Sample) -> int | float:
    return int(sample.value) if float(sample.value).is_integer() else float(sample.value)

"""Makes Prometheus's families of metrics out of the ledger's totals: names, labels and units are in docs/metrics.md.

In the flow: `collecting.py` reads the totals and answers a scrape with these. Nothing here does I/O.

Series are there at 0 before they count anything, as far as their labels are known: of each lane, and of the reasons
that Bandmaster itself gives. Prometheus sees no increase in a series that begins with what it counts.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.metrics.buckets import BOUNDS, BUCKETS
from ...scheduler.model.priority import Priority
from ...scheduler.model.states import TERMINAL, State
from ..totals import OTHER, REASONS_OF_PODS, REASONS_OF_SCRIPTS, SUM
from .ledger_figures import LedgerFigures, Total

_COUNTERS: Final = (
    ("accepted", ("lane",), "Executions that were accepted"),
    ("promoted", ("lane",), "Executions that became due"),
    ("risen", ("lane",), "Moves up by one band, as something had waited for long"),
    ("granted", ("lane",), "Slots that were granted"),
    ("handed_over", ("lane",), "Attempts that a pod took over"),
    ("handed_back", ("lane",), "Slots that were given back unused"),
    ("ended", ("lane", "state", "reason"), "Executions that ended"),
    ("retried", ("lane", "reason"), "Attempts that failed and were followed by another wait"),
    ("reaped", ("lane",), "Leases that ran out"),
    ("rejected", ("reason",), "Submissions that were refused"),
    ("dead_lettered", ("lane",), "Executions that became dead letters"),
    ("notified", ("outcome",), "Notifications that a receiver took, and those that were given up"),
)
"""Metric of `totals`, labels, what it counts."""
_HISTOGRAMS: Final = (
    ("wait", "wait_seconds", "Seconds from the beginning of a wait to its slot"),
    ("late", "late_seconds", "Seconds from when it was due to when it began to wait"),
    ("run", "run_seconds", "For how long an attempt held its slot"),
    ("turnaround", "turnaround_seconds", "Seconds from acceptance to completion"),
)
"""Metric of `totals`, name, what it measures; by lane."""
_RETRIED: Final = (OTHER, "lease_lost")
_RETRIED_PODS: Final = ("Evicted", "Preempted", "NodeLost", "PodAbsent")
_REJECTED: Final = ("DUPLICATE", "NOT_UNIQUE", "QUEUE_FULL", "USER_LIMIT")


def of_ledger(figures: LedgerFigures, lanes: Iterable[str] = ()) -> Iterator[Metric]:
    """The counters and histograms that the ledger keeps.

    Args:
        figures: What the ledger says.
        lanes: Those that are known, besides the lane of events and those that the totals name.
    """
    totals = figures.totals
    yield CounterMetricFamily(
        "queue_enqueue", f"Executions that lane {DEFAULT_LANE} accepted", _of_events(totals.get("accepted", []))
    )
    yield CounterMetricFamily(
        "queue_schedule", f"Slots that lane {DEFAULT_LANE} granted", _of_events(totals.get("granted", []))
    )
    of_events = [total for total in totals.get("wait", []) if total.labels["lane"] == DEFAULT_LANE]
    yield _histogram(
        "queue_wait_time",
        "Seconds from the beginning of a wait to its slot",
        "priority",
        of_events,
        [priority.name for priority in Priority],
    )
    named = {total.labels["lane"] for each in totals.values() for total in each if total.labels.get("lane")}
    always = sorted({DEFAULT_LANE, *lanes, *named})
    for metric, name, text in _HISTOGRAMS:
        yield _histogram(f"bandmaster_{name}", text, "lane", totals.get(metric, []), always)
    for metric, labels, text in _COUNTERS:
        counted = dict.fromkeys(_known(metric, always), 0)
        for total in totals.get(metric, []):
            counted[tuple(total.labels[label] for label in labels)] = total.value
        family = CounterMetricFamily(f"bandmaster_{metric}", text, labels=labels)
        for names, value in counted.items():
            family.add_metric(names, value)
        yield family
    text = "Notifications that wait for their delivery"
    yield GaugeMetricFamily("bandmaster_notifications_waiting", text, figures.waiting_notifications)
    text = "For how long the notification that waits longest has waited; 0: none waits"
    oldest_seconds = max(0, figures.oldest_notification_ms) / 1000
    yield GaugeMetricFamily("bandmaster_notifications_oldest_seconds", text, oldest_seconds)
    missing, text = (
        figures.unrestored,
        "What Redis may lack, or has alive, since it began anew, and nobody has restored",
    )
    unrestored = GaugeMetricFamily("bandmaster_unrestored", text, labels=["what"])
    unrestored.add_metric(["executions"], 0 if missing is None else missing.executions)
    unrestored.add_metric(["changes"], 0 if missing is None else missing.changes)
    unrestored.add_metric(["revived"], 0 if missing is None else missing.revived)
    yield unrestored
    missed = sum(total.value for total in totals.get("missed", []))
    yield CounterMetricFamily("bandmaster_ledger_missed_entries", "Entries of the journal not read", missed)


def _of_events(counted: Iterable[Total]) -> int:
    return sum(total.value for total in counted if total.labels == {"lane": DEFAULT_LANE})


def _known(metric: str, lanes: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """The labels of series that are there from the start. Pods run what is in the lane of events alone."""
    match metric:
        case "ended":
            plain = [*((state, "") for state in sorted(TERMINAL)), (State.FAILED, OTHER), (State.CANCELLED, OTHER)]
            own = [*plain, *((state, reason) for reason, state in REASONS_OF_SCRIPTS.items())]
            of_pods = [(state, reason) for reason, state in REASONS_OF_PODS.items()]
            yield from ((lane, *each) for lane, each in product(lanes, own))
            yield from ((DEFAULT_LANE, *each) for each in of_pods)
        case "retried":
            yield from product(lanes, _RETRIED)
            yield from ((DEFAULT_LANE, reason) for reason in _RETRIED_PODS)
        case "rejected":
            yield from ((reason,) for reason in _REJECTED)
        case "notified":
            yield from (("sent",), ("failed",))
        case _:
            yield from ((lane,) for lane in lanes)


def _histogram(name: str, text: str, label: str, counted: Iterable[Total], always: Sequence[str]) -> Metric:
    """A histogram in seconds; totals that differ only in other labels are added up."""
    series: dict[str, Counter[str]] = {value: Counter() for value in always}
    for total in counted:
        series.setdefault(total.labels[label], Counter())[total.bucket] += total.value
    family = HistogramMetricFamily(name, text, labels=(label,))
    for value, buckets in series.items():
        so_far, cumulative = 0, list[tuple[str, float]]()
        for bucket, bound in zip(BUCKETS, BOUNDS, strict=True):
            so_far += buckets[bucket]
            cumulative.append((bound, so_far))
        family.add_metric((value,), cumulative, buckets[SUM] / 1000)
    return family

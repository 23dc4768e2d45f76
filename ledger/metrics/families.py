"""Makes Prometheus's families of metrics out of figures: their names, labels and units are in docs/metrics.md.

In the flow: `serving.py` reads the figures and answers a scrape with these. Nothing here does I/O.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric

from ...scheduler.keys import DEFAULT_LANE
from ...scheduler.model.priority import Priority
from ..totals import BOUNDARIES_MS, LONGER, SUM
from .ledger_figures import LedgerFigures, Total
from .queue_figures import QueueFigures

_COUNTERS: Final = (
    ("accepted", "bandmaster_accepted", ("lane",), "Executions that were accepted"),
    ("granted", "bandmaster_granted", ("lane",), "Slots that were granted"),
    ("ended", "bandmaster_ended", ("lane", "state", "reason"), "Executions that ended"),
    ("retried", "bandmaster_retried", ("lane",), "Attempts that failed and were followed by another wait"),
    ("reaped", "bandmaster_reaped", ("lane",), "Leases that ran out"),
    ("rejected", "bandmaster_rejected", ("reason",), "Submissions that were refused"),
    ("dead_lettered", "bandmaster_dead_lettered", ("lane",), "Executions that became dead letters"),
)
"""Metric of `totals`, name, labels, what it counts."""
_BOUNDS: Final = (*((str(bound), str(bound / 1000)) for bound in BOUNDARIES_MS), (LONGER, "+Inf"))
"""Bucket of `totals`, `le` in seconds."""


def of_queue(figures: QueueFigures) -> Iterator[Metric]:
    """The gauges that Redis tells."""
    events = figures.lanes[0]
    yield GaugeMetricFamily("queue_depth", f"Executions that wait on lane {DEFAULT_LANE}", events.queue_depth)
    yield GaugeMetricFamily("queue_active", f"Executions of lane {DEFAULT_LANE} with a slot", events.active_count)
    waiting = GaugeMetricFamily("bandmaster_waiting", "Executions that wait", labels=("lane", "priority"))
    scheduled = GaugeMetricFamily("bandmaster_scheduled", "Executions that are not yet due", labels=("lane",))
    active = GaugeMetricFamily("bandmaster_active", "Executions with a slot", labels=("lane",))
    oldest = GaugeMetricFamily(
        "bandmaster_oldest_wait_seconds", "For how long the one that waits longest has waited", labels=("lane",)
    )
    standstill = GaugeMetricFamily(
        "bandmaster_standstill_seconds",
        "For how long something has waited or run while no slot was granted or given back",
        labels=("lane",),
    )
    startable = GaugeMetricFamily(
        "bandmaster_startable_wait_seconds",
        "For how long the one that would start next has waited though slots are free",
        labels=("lane",),
    )
    most_running = GaugeMetricFamily("bandmaster_active_limit", "How many may hold a slot", labels=("lane",))
    most_waiting = GaugeMetricFamily("bandmaster_queue_size_limit", "How many may wait", labels=("lane",))
    for lane, ages in zip(figures.lanes, figures.ages, strict=True):
        for priority, number in lane.pending_by_priority.items():
            waiting.add_metric((lane.lane, priority), number)
        scheduled.add_metric((lane.lane,), lane.scheduled_count)
        active.add_metric((lane.lane,), lane.active_count)
        oldest.add_metric((lane.lane,), ages.oldest_ms / 1000)
        standstill.add_metric((lane.lane,), ages.standstill_ms / 1000)
        startable.add_metric((lane.lane,), ages.startable_ms / 1000)
        for family, bound in ((most_running, "max_concurrent_executions"), (most_waiting, "max_queue_size")):
            if (most := lane.settings[bound]) is not None:
                family.add_metric((lane.lane,), most)
    held = GaugeMetricFamily("bandmaster_gate_held", "Executions that hold the gate", labels=("gate",))
    limit = GaugeMetricFamily("bandmaster_gate_limit", "The gate's limit", labels=("gate",))
    behind = GaugeMetricFamily("bandmaster_gate_waiting", "Executions that found the gate closed", labels=("gate",))
    for gate in figures.gates:
        held.add_metric((gate.gate,), gate.held or 0)
        behind.add_metric((gate.gate,), gate.waiting)
        if gate.limit is not None:
            limit.add_metric((gate.gate,), gate.limit)
    yield from (waiting, scheduled, active, oldest, standstill, startable, most_running, most_waiting)
    yield from (held, limit, behind)
    yield GaugeMetricFamily("bandmaster_dead_letters", "Dead letters that are kept", events.dead_count)
    yield GaugeMetricFamily("bandmaster_journal_entries", "Entries in the journal", figures.journal_entries)
    yield GaugeMetricFamily("bandmaster_leader", "1 if a scheduler process leads, else 0", int(figures.leads))


def of_ledger(figures: LedgerFigures) -> Iterator[Metric]:
    """The counters and histograms that the ledger keeps."""
    totals = figures.totals
    yield CounterMetricFamily(
        "queue_enqueue", f"Executions that lane {DEFAULT_LANE} accepted", _of_events(totals.get("accepted", []))
    )
    yield CounterMetricFamily(
        "queue_schedule", f"Slots that lane {DEFAULT_LANE} granted", _of_events(totals.get("granted", []))
    )
    waits = totals.get("wait", [])
    of_events = [total for total in waits if total.labels["lane"] == DEFAULT_LANE]
    # At 0 from the start: Prometheus sees no increase in a series that begins with what it counts.
    names = [(priority.name,) for priority in Priority]
    yield _histogram(
        "queue_wait_time", "Seconds from the beginning of a wait to its slot", ("priority",), of_events, names
    )
    yield _histogram("bandmaster_wait_seconds", "The same, of all lanes", ("lane",), waits)
    yield _histogram(
        "bandmaster_run_seconds", "For how long an attempt held its slot", ("lane",), totals.get("run", [])
    )
    for metric, name, labels, text in _COUNTERS:
        family = CounterMetricFamily(name, text, labels=labels)
        for total in totals.get(metric, []):
            family.add_metric([total.labels[label] for label in labels], total.value)
        yield family
    missed = sum(total.value for total in totals.get("missed", []))
    yield CounterMetricFamily("bandmaster_ledger_missed_entries", "Entries of the journal not read", missed)


def _of_events(counted: Iterable[Total]) -> int:
    return sum(total.value for total in counted if total.labels == {"lane": DEFAULT_LANE})


def _histogram(
    name: str, text: str, labels: Sequence[str], counted: Iterable[Total], always: Iterable[tuple[str, ...]] = ()
) -> Metric:
    """A histogram in seconds; totals that differ only in other labels are added up."""
    series: dict[tuple[str, ...], Counter[str]] = {names: Counter() for names in always}
    for total in counted:
        series.setdefault(tuple(total.labels[label] for label in labels), Counter())[total.bucket] += total.value
    family = HistogramMetricFamily(name, text, labels=labels)
    for names, buckets in series.items():
        so_far, cumulative = 0, list[tuple[str, float]]()
        for bucket, bound in _BOUNDS:
            so_far += buckets[bucket]
            cumulative.append((bound, so_far))
        family.add_metric(names, cumulative, buckets[SUM] / 1000)
    return family

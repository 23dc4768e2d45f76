"""Makes Prometheus's families of metrics out of what Redis says: their names, labels and units are in docs/metrics.md.

In the flow: a scrape reads the figures (`queue_figures.py`) and is answered with these. Nothing here does I/O.
"""

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from ..keys import DEFAULT_LANE
from .buckets import BOUNDS
from .queue_figures import QueueFigures


def of_queue(figures: QueueFigures) -> Iterator[Metric]:
    """The gauges that Redis tells."""
    events = figures.lanes[0]
    yield GaugeMetricFamily("queue_depth", f"Executions that wait on lane {DEFAULT_LANE}", events.queue_depth)
    yield GaugeMetricFamily("queue_active", f"Executions of lane {DEFAULT_LANE} with a slot", events.active_count)
    yield from _of_lanes(figures)
    yield from _of_bounds(figures)
    yield from _of_gates(figures)
    yield from _of_actions(figures)
    yield from _of_workers(figures)
    yield GaugeMetricFamily("bandmaster_pods", "Executions that a pod runs", figures.with_pods)
    yield GaugeMetricFamily("bandmaster_dead_letters", "Dead letters that are kept", events.dead_count)
    yield GaugeMetricFamily("bandmaster_journal_entries", "Entries in the journal", figures.journal_entries)
    yield of_leader(figures.leads)


def of_leader(leads: bool) -> Metric:
    """Whether a scheduler process leads."""
    return _single("leader", "1 if a scheduler process leads, else 0", int(leads))


def _of_lanes(figures: QueueFigures) -> Iterator[Metric]:
    waiting = _gauge("waiting", "Executions that wait", "lane", "priority")
    scheduled = _gauge("scheduled", "Executions that are not yet due", "lane")
    active = _gauge("active", "Executions with a slot", "lane")
    untold = _gauge("untold", "Ends that are not reported to their senders yet", "lane")
    oldest = _gauge("oldest_wait_seconds", "For how long the one that waits longest has waited", "lane")
    standstill = _gauge(
        "standstill_seconds", "For how long something has waited or run while no slot was granted or given back", "lane"
    )
    startable = _gauge(
        "startable_wait_seconds", "For how long the one that would start next has waited though slots are free", "lane"
    )
    closed = _gauge("gates_closed_by_rate", "Gates that their rate keeps closed to something that waits", "lane")
    fair = _gauge("fair_keys", "Users, or gates of the lane's kind, with something that waits", "lane", "priority")
    # Without a sum, which only reading all that wait would tell.
    ages = Metric("bandmaster_waiting_age_seconds", "For how long those that wait have waited", "gaugehistogram")
    for lane in figures.lanes:
        name = lane.lane
        for priority, number in lane.pending_by_priority.items():
            waiting.add_metric((name, priority), number)
        scheduled.add_metric((name,), lane.scheduled_count)
        active.add_metric((name,), lane.active_count)
        untold.add_metric((name,), figures.untold[name])
        closed.add_metric((name,), figures.closed_by_rate[name])
        for priority, number in figures.fair_keys.get(name, {}).items():
            fair.add_metric((name, priority), number)
        oldest.add_metric((name,), figures.ages[name].oldest_ms / 1000)
        standstill.add_metric((name,), figures.ages[name].standstill_ms / 1000)
        startable.add_metric((name,), figures.ages[name].startable_ms / 1000)
        for bound, number in zip(BOUNDS, figures.waited_up_to[name], strict=True):
            ages.add_sample("bandmaster_waiting_age_seconds_bucket", {"lane": name, "le": bound}, number)
    yield from (waiting, scheduled, active, untold, oldest, standstill, startable, closed, fair, ages)


def _of_bounds(figures: QueueFigures) -> Iterator[Metric]:
    """Bounds that are not set have no series: none is no number."""
    over_all = _gauge("limit", "How many may hold a slot in all lanes together")
    active = _gauge("active_limit", "How many may hold a slot in the lane", "lane")
    waiting = _gauge("queue_size_limit", "How many may wait in the lane", "lane")
    most = figures.lanes[0].settings["max_concurrent"]
    if most is not None:
        over_all.add_metric((), most)
    for lane in figures.lanes:
        for family, bound in ((active, "max_concurrent_executions"), (waiting, "max_queue_size")):
            value = lane.settings[bound]
            if value is not None:
                family.add_metric((lane.lane,), value)
    yield from (over_all, active, waiting)


def _of_gates(figures: QueueFigures) -> Iterator[Metric]:
    held = _gauge("gate_held", "Executions that hold the gate", "gate")
    limit = _gauge("gate_limit", "The gate's limit", "gate")
    behind = _gauge("gate_waiting", "Executions that found the gate closed", "gate")
    for gate in figures.gates:
        held.add_metric((gate.gate,), gate.held or 0)
        behind.add_metric((gate.gate,), gate.waiting)
        if gate.limit is not None:
            limit.add_metric((gate.gate,), gate.limit)
    paused = _gauge("paused", "1 if it is paused, else 0", "gate")
    for name, is_paused in figures.paused.items():
        paused.add_metric((name,), int(is_paused))
    yield from (held, limit, behind, paused)


def _of_actions(figures: QueueFigures) -> Iterator[Metric]:
    accepted = CounterMetricFamily("bandmaster_action_enqueued", "Executions that were accepted", labels=("action",))
    ended = CounterMetricFamily("bandmaster_action_completed", "Executions that ended, however", labels=("action",))
    for action in figures.actions:
        accepted.add_metric((action.action,), action.total_enqueued)
        ended.add_metric((action.action,), action.total_completed)
    yield from (accepted, ended)


def _of_workers(figures: QueueFigures) -> Iterator[Metric]:
    workers = figures.workers
    yield _single("workers", "Worker processes that live", len(workers))
    yield _single("workers_stopping", "Of these, how many take nothing more", sum(one.stopping for one in workers))
    yield _single("threads", "Threads of the workers", sum(one.threads for one in workers))
    yield _single("threads_busy", "Threads that work on something", sum(one.busy for one in workers))
    by_lane = _gauge("lane_threads", "Threads of the workers that take from the lane", "lane")
    for lane in figures.lanes:
        by_lane.add_metric((lane.lane,), sum(one.threads for one in workers if lane.lane in one.lanes))
    yield by_lane


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"bandmaster_{name}", text, labels=labels)


def _single(name: str, text: str, value: int) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"bandmaster_{name}", text, value)

"""``Totals``: counters and histograms over all that ever happened, and the rows of `totals` that keep them.

In the flow: a batch collects what its entries count; ``writing.py`` adds it to the rows, in the transaction of the
transitions that are counted. So no restart, no second consumer and no page that is read again counts anything twice:
if the process dies, both are written or neither. A page is a few rows, whatever its length.

Totals never fall. What entries that Redis dropped unread, and those that are refused, would have told is missing in
them for ever, as it is in the history; only how many these were is counted. Reconciling, rebuilding, forgetting a user
and retention leave them alone: what is taken over from Redis or restored into it was no transition, and that rows go
does not undo what they told. No label names an execution, an action or a user.
"""

from bisect import bisect_left
from collections import Counter
from typing import Final

from pydantic_core import to_json
from sqlalchemy import Connection

from ..scheduler.engine.journal import JournalEntry, Verb
from ..scheduler.metrics.buckets import BOUNDARIES_MS, BUCKETS
from ..scheduler.model.priority import Priority
from ..scheduler.model.states import TERMINAL, State
from .schema.tables import totals
from .statements import put

SUM: Final = "sum"
AGED: Final = "aged"
"""The reason of a move to another band that nobody asked for."""
_ENDS: Final = frozenset({Verb.RELEASE, Verb.REAP, Verb.LOSE, Verb.EXPIRE, Verb.CANCEL, Verb.REMOVE})
REASONS_OF_SCRIPTS: Final = {
    "skipped": State.COMPLETED,
    "lease_lost": State.FAILED,
    "event_lost": State.FAILED,
    "event_unreadable": State.FAILED,
    "removed": State.CANCELLED,
    "cancelled": State.CANCELLED,
    "stale": State.EXPIRED,
    "max_age": State.EXPIRED,
    "timeout": State.TIMEOUT,
}
"""Reasons of an end, each with the state that it comes with as a rule."""
REASONS_OF_PODS: Final = {"Completed": State.COMPLETED, "DeadlineExceeded": State.TIMEOUT} | dict.fromkeys(
    (
        *("Error", "StartError", "OOMKilled", "Deleted", "Evicted", "Preempted", "NodeLost", "ImagePull"),
        *("Unschedulable", "CreateContainerConfigError", "PodRejected", "PodAbsent", "infrastructure"),
    ),
    State.FAILED,
)
"""Likewise, of executions that run as pods."""
OTHER: Final = "other"
"""All other reasons: a label must not have any number of values, and programs may say anything."""
REASONS: Final = REASONS_OF_SCRIPTS.keys() | REASONS_OF_PODS.keys()

Key = tuple[str, tuple[tuple[str, str], ...], str]
"""Metric, labels with their values, bucket."""


class Totals:
    """What a batch adds to the totals. Does no I/O."""

    def __init__(self) -> None:
        self.added: Counter[Key] = Counter()

    def count(self, entry: JournalEntry) -> None:
        """Count a transition, from its entry alone: it is the same whatever the ledger knows of the execution."""
        fields, lane = entry.fields, entry.fields.get("lane", "")
        match entry.verb:
            case Verb.PARK:
                self._add("accepted", lane=lane)
            case Verb.ADMIT:
                self._add("granted", lane=lane)
                band = Priority(int(fields["band"])).name
                self._observe("wait", int(float(fields.get("waited_ms") or 0)), lane=lane, priority=band)
            case Verb.PROMOTE:
                self._add("promoted", lane=lane)
                if fields.get("due"):
                    self._observe("late", entry.at_ms - int(float(fields["due"])), lane=lane)
            case Verb.HAND_OVER:
                self._add("handed_over", lane=lane)
            case Verb.HAND_BACK:
                self._add("handed_back", lane=lane)
            case Verb.RETRY:
                self._add("retried", lane=lane, reason=_class_of(fields.get("reason", "")))
            case Verb.REPRIORITISE if fields.get("reason") == AGED:
                self._add("risen", lane=lane)
            case Verb.REJECT:
                self._add("rejected", int(fields.get("count") or 1), reason=fields.get("reason", ""))
            case _:
                pass
        if entry.verb == Verb.REAP:
            self._add("reaped", lane=lane)
        if entry.verb in _ENDS and fields.get("state") in TERMINAL:
            self._add("ended", lane=lane, state=fields["state"], reason=_class_of(fields.get("reason", "")))
        if fields.get("dead") == "1" and (entry.verb in _ENDS or entry.verb == Verb.BURY):
            self._add("dead_lettered", lane=lane)

    def observe_run(self, lane: str, run_ms: int) -> None:
        """Count an attempt that held its slot for so long; one of a row that is ahead of the entry, as 0."""
        self._observe("run", run_ms, lane=lane)

    def observe_turnaround(self, lane: str, turnaround_ms: int) -> None:
        """Count an execution that completed so long after it was accepted."""
        self._observe("turnaround", turnaround_ms, lane=lane)

    def notify(self, outcome: str, number: int) -> None:
        """Count notifications that a receiver took (`sent`), or that were given up (`failed`)."""
        self._add("notified", number, outcome=outcome)

    def miss(self, number: int) -> None:
        """Count entries that nobody read."""
        self._add("missed", number)

    def _observe(self, metric: str, value_ms: int, **labels: str) -> None:
        value_ms = max(0, value_ms)
        self._add(metric, 1, bucket=BUCKETS[bisect_left(BOUNDARIES_MS, value_ms)], **labels)
        self._add(metric, value_ms, bucket=SUM, **labels)

    def _add(self, metric: str, number: int = 1, *, bucket: str = "", **labels: str) -> None:
        self.added[metric, tuple(sorted(labels.items())), bucket] += number


def write_totals(connection: Connection, collected: Totals) -> None:
    """Add what a batch collected to the rows that are there, by one statement."""
    # In one order, whatever the batch: who reads the statements finds the rows again.
    rows = [
        {"metric": metric, "labels": to_json(dict(labels)).decode(), "bucket": bucket, "value": value}
        for (metric, labels, bucket), value in sorted(collected.added.items())
    ]
    put(connection, totals, rows, keys=("metric", "labels", "bucket"), added=["value"])


def _class_of(reason: str) -> str:
    return reason if not reason or reason in REASONS else OTHER

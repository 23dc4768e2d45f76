"""``Figures`` of a queue: how many items are what, of which kind failures were, and how long items took.

In the flow: counted along an index when somebody asks. Deleted items are not counted. How long an item took is from
when its last holder got it to its end (D42), and not from when it was added.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import func, select

from ..ledger.schema.tables import queue_items
from .returning import give_back_all
from .states import Failure, Status
from .store import Store, now_of

HOUR_MS: Final = 3_600_000
COUNTED: Final = tuple(status for status in Status if status is not Status.DELETED)


@dataclass(frozen=True, slots=True)
class Figures:
    """Of one queue."""

    counts: dict[Status, int]
    """Each status but DELETED."""
    application_failures: int
    business_failures: int
    average_processing_seconds: float | None
    """Of items that are DONE or FAILED; None: there are none."""
    oldest_new_ms: int | None
    """When the item that has waited longest was added; None: none waits."""
    ended_last_hour: int
    """How many have ended in the last hour, whatever their end."""


def figures_of(store: Store, queue_id: int) -> Figures:
    """Count the items of a queue.

    Raises:
        LedgerError: If the database does not answer.
    """
    give_back_all(store, queue_id)
    of = queue_items.c
    by_status = (
        select(
            of.status, of.failure, func.count(), func.sum(of.ended_ms - of.locked_at_ms), func.count(of.locked_at_ms)
        )
        .where(of.queue_id == queue_id, of.status != Status.DELETED)
        .group_by(of.status, of.failure)
    )
    oldest = select(func.min(of.created_ms)).where(of.queue_id == queue_id, of.status == Status.NEW)
    with store.asking.reading() as connection:
        hour_ago_ms = now_of(connection) - HOUR_MS
        ended = select(func.count()).where(of.queue_id == queue_id, of.ended_ms > hour_ago_ms)
        ended_last_hour = connection.execute(ended).scalar_one()
        rows = connection.execute(by_status).all()
        oldest_ms = connection.execute(oldest).scalar_one()
    counts = dict.fromkeys(COUNTED, 0)
    failures = dict.fromkeys(Failure, 0)
    took_ms, took = 0, 0
    for status, failure, count, ms, timed in rows:
        counts[Status(status)] += count
        if status == Status.FAILED and failure is not None:
            failures[Failure(failure)] += count
        if status in (Status.DONE, Status.FAILED) and timed:
            took_ms, took = took_ms + int(ms or 0), took + timed
    average = took_ms / took / 1000 if took else None
    return Figures(
        counts=counts,
        application_failures=failures[Failure.APPLICATION],
        business_failures=failures[Failure.BUSINESS],
        average_processing_seconds=average,
        oldest_new_ms=oldest_ms,
        ended_last_hour=ended_last_hour,
    )

"""``QueueStats``: the figures of the queue for slots, or of any action, at one moment."""

from dataclasses import dataclass
from datetime import UTC, datetime

from ..views import Views


@dataclass(frozen=True, slots=True)
class QueueStats:
    """The figures of one action's queue at one moment: who takes slots of it, and actors' executions alike."""

    action_id: str
    """The name of the slot, which is its action."""
    queue_length: int
    """How many wait."""
    active_count: int
    """How many hold a slot."""
    max_concurrent: int | None
    """The limit in force; None: there is none."""
    oldest_enqueued_at: datetime | None
    """When the one was accepted that waits longest."""
    total_enqueued: int
    """All that were ever accepted."""
    total_completed: int
    """All that ended, however they did."""


def queue_stats(views: Views, name: str) -> QueueStats:
    """Read the figures of an action; all zero for one that was never used.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    found = views.action_statistics(name)
    oldest_ms = found.oldest_enqueued_at
    return QueueStats(
        action_id=name,
        queue_length=found.queue_length,
        active_count=found.active_count,
        max_concurrent=found.max_concurrent,
        oldest_enqueued_at=None if oldest_ms is None else datetime.fromtimestamp(oldest_ms / 1000, UTC),
        total_enqueued=found.total_enqueued,
        total_completed=found.total_completed,
    )

"""``QueueStatsRepository``: the figures of an action's queue as the ledger has them, for any program with its database.

In the flow: read-only, beside the monitoring queries of `queue_stats`; nothing asks here on the way of an execution. As
late as the ledger is; `GET /actions/{ref}/queue-stats` says what Redis knows now.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import select

from ..database import Database
from ..schema.tables import action, queue_stats


@dataclass(frozen=True, slots=True)
class QueueStats:
    """A row of `queue_stats`, with its action's name."""

    action_id: int
    ref: str
    queue_length: int
    active_count: int
    max_concurrent: int | None
    """None: no limit of its own."""
    oldest_enqueued_at: datetime | None
    """In UTC; None: nothing waits."""
    total_enqueued: int
    total_completed: int
    """Ended, in whatever terminal state."""
    last_updated: datetime
    """When a transition changed it last, in UTC."""


class QueueStatsRepository:
    """Reads `queue_stats` of one ledger. Safe to share between threads."""

    def __init__(self, database: Database) -> None:
        """Makes no connection."""
        self._database = database

    def find_by_action(self, action_id: int | str) -> QueueStats | None:
        """Return the figures of an action; None if none of its executions was heard of.

        Args:
            action_id: Its `id` in the table `action`, or its name.

        Raises:
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it has no such tables.
        """
        named = action.c.id == action_id if isinstance(action_id, int) else action.c.ref == action_id
        columns = [column for column in queue_stats.c if column is not queue_stats.c.action_id]
        found = select(action.c.id.label("action_id"), action.c.ref, *columns)
        found = found.join_from(action, queue_stats, action.c.id == queue_stats.c.action_id).where(named)
        with self._database.reading() as connection:
            row = connection.execute(found).mappings().one_or_none()
        if row is None:
            return None
        values: dict[str, Any] = dict(row)
        for name, value in values.items():
            if isinstance(value, datetime):
                # SQLite keeps no zone, where it is UTC; PostgreSQL tells the time in that of the connection.
                values[name] = value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
        return QueueStats(**values)

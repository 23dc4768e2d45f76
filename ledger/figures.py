"""Writes `queue_stats`: the figures of each action's queue that a batch changes.

In the flow: `writing.py` calls it when the rows of executions are written, since the oldest that waits is looked up
among them. Counts are added to what is there, in the transaction of the transitions that they count.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Final

from sqlalchemy import Connection, select, text

from ..scheduler.model.auto import limit_in_force
from .batch import Figures
from .schema.tables import action, executions, queue_stats
from .statements import insert_or, put

_ACTIONS_A_STATEMENT: Final = 500
_MOST_SHOWN: Final = 2**31 - 1
"""`max_concurrent` is a column of the contract, and of 32 bits; the limits themselves stand in `changes`."""


def write_figures(connection: Connection, figures: Mapping[str, Figures]) -> None:
    """Add to the figures of some actions."""
    refs = iter(sorted(ref for ref in figures if ref))
    while page := list(islice(refs, _ACTIONS_A_STATEMENT)):
        _write_page(connection, page, figures)


def _write_page(connection: Connection, refs: Sequence[str], figures: Mapping[str, Figures]) -> None:
    connection.execute(insert_or(connection, action).on_conflict_do_nothing(), [{"ref": ref} for ref in refs])
    stored = select(action.c.ref, action.c.id, *queue_stats.c).join_from(action, queue_stats, isouter=True)
    rows = {row["ref"]: row for row in connection.execute(stored.where(action.c.ref.in_(refs))).mappings()}
    oldest = _oldest(connection, refs)
    added = [_added(rows[ref], figures[ref], oldest.get(ref)) for ref in refs]
    put(connection, queue_stats, added, keys=["action_id"])


def _added(row: Mapping[Any, Any], figures: Figures, oldest_ms: int | None) -> dict[str, Any]:
    kept = 0 if figures.is_dropped else 1
    limit = row["max_concurrent"] if figures.limit is None else _shown_limit(figures.limit)
    return {
        "action_id": row["id"],
        "queue_length": (row["queue_length"] or 0) + figures.waiting,
        "active_count": (row["active_count"] or 0) + figures.active,
        "max_concurrent": limit,
        "oldest_enqueued_at": None if oldest_ms is None else moment(oldest_ms),
        "total_enqueued": kept * (row["total_enqueued"] or 0) + figures.enqueued,
        "total_completed": kept * (row["total_completed"] or 0) + figures.completed,
        "last_updated": moment(figures.at_ms) if figures.is_moved else row["last_updated"] or moment(figures.at_ms),
    }


def _shown_limit(text: str) -> int | None:
    return min(limit_in_force(text), _MOST_SHOWN) if text else None


def _oldest(connection: Connection, refs: Sequence[str]) -> dict[str, int]:
    """When the one was accepted that waits longest, by action; of an action of which none waits, nothing."""
    # Said in words, as an index of those that wait is found by them.
    waits = text("executions.state = 'PENDING'")
    first = select(executions.c.accepted_ms).where(executions.c.action == action.c.ref, waits)
    first = first.where(executions.c.lost_ms.is_(None)).order_by(executions.c.accepted_ms).limit(1).scalar_subquery()
    found = connection.execute(select(action.c.ref, first).where(action.c.ref.in_(refs)))
    return {ref: accepted_ms for ref, accepted_ms in found if accepted_ms is not None}


def moment(unix_ms: int) -> datetime:
    """Return Unix milliseconds as a time with its zone, UTC."""
    return datetime.fromtimestamp(unix_ms / 1000, UTC)

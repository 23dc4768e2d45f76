"""Finds triggers that wait for a time to which a clock had leapt ahead, and lets them go by the clock as it is now.

In the flow: `trigger_rounds` looks through a page of them each few rounds, since whoever moved them may be gone. Each
is moved only if nobody changed it meanwhile. Killed in between, the next look does the rest. What was fired in the leap
is not fired again at its own time (`firing`).
"""

from typing import Any

from sqlalchemy import Connection, select, update

from ..ledger.schema.tables import triggers
from .bounds import LOOKED_A_PAGE
from .firing import next_of
from .trigger import TriggerType

Moved = tuple[int, int, int]
"""A trigger's id, its revision, and its next time."""


def too_late(connection: Connection, after_id: int, at_ms: int) -> tuple[list[Moved], int]:
    """Look through the next page of TIME triggers.

    Args:
        connection: Of a transaction that reads.
        after_id: The last trigger of the page before; 0: begin.
        at_ms: The database's time.

    Returns:
        Those that would pass over their next time; and the last trigger of the page, 0 if it was the last page.
    """
    of = triggers.c
    of_time = select(of.trigger_id, of.revision, of.cron, of.tz, of.next_fire_ms).where(
        of.enabled,
        of.type == TriggerType.TIME,
        of.trigger_id > after_id,
    )
    rows = connection.execute(of_time.order_by(of.trigger_id).limit(LOOKED_A_PAGE)).all()
    found = list[Moved]()
    for row in rows:
        next_ms = _next_of(row, at_ms)
        if next_ms is not None and (row.next_fire_ms is None or row.next_fire_ms > next_ms):
            found.append((row.trigger_id, row.revision, next_ms))
    return found, rows[-1].trigger_id if len(rows) == LOOKED_A_PAGE else 0


def _next_of(row: Any, at_ms: int) -> int | None:
    try:
        return next_of(row.cron, row.tz, at_ms)
    except Exception:  # noqa: BLE001  # one that is broken is told of when it is due, and holds up no other
        return None


def put_right(connection: Connection, found: list[Moved]) -> None:
    """Let triggers fire at their next time, unless they were changed since."""
    of = triggers.c
    for trigger_id, revision, next_ms in found:
        of_it = update(triggers).where(of.trigger_id == trigger_id, of.revision == revision)
        connection.execute(of_it.values(next_fire_ms=next_ms))

"""What waits for its delivery, and what could not be delivered: read for people.

In the flow: the API and the command line show it. Bodies and addresses are not told.
"""

from dataclasses import dataclass
from typing import Final

from sqlalchemy import Connection, func, or_, select

from ...ledger.schema.tables import notifications
from ..store import Store

MOST_LISTED: Final = 200


@dataclass(frozen=True, slots=True)
class Notification:
    """One that its receiver has not taken."""

    delivery_id: str
    subject: str
    """`queue` or `trigger`."""
    name: str
    """Of the queue or the trigger, then."""
    event: str
    item_id: str | None
    created_ms: int
    attempts: int
    again_ms: int | None
    """When the next attempt is made; None: it was given up."""
    failed_ms: int | None
    last_problem: str | None


@dataclass(frozen=True, slots=True)
class Undelivered:
    """All of them, at one moment."""

    waiting: int
    failed: int
    latest: list[Notification]
    """The latest `MOST_LISTED` of them, the latest first."""


def undelivered(store: Store, subject: str | None = None, name: str | None = None) -> Undelivered:
    """Return what was not taken.

    Args:
        store: The database.
        subject: Of `queue` or `trigger`; None: of both.
        name: Of which; None: of all.

    Raises:
        LedgerError: If the database does not answer.
    """
    of = notifications.c
    chosen = [] if subject is None else [of.subject == subject]
    chosen += [] if name is None else [of.subject_name == name]
    waits = (of.sent_ms.is_(None), of.failed_ms.is_(None))

    def read(connection: Connection) -> Undelivered:
        waiting = connection.execute(select(func.count()).where(*waits, *chosen)).scalar_one()
        failed = connection.execute(select(func.count()).where(of.failed_ms.is_not(None), *chosen)).scalar_one()
        found = select(notifications).where(or_(of.sent_ms.is_(None), of.failed_ms.is_not(None)), *chosen)
        rows = connection.execute(found.order_by(of.created_ms.desc(), of.delivery_id.desc()).limit(MOST_LISTED))
        latest = [
            Notification(
                delivery_id=row.delivery_id,
                subject=row.subject,
                name=row.subject_name,
                event=row.event,
                item_id=row.item_id,
                created_ms=row.created_ms,
                attempts=row.attempts,
                again_ms=row.again_ms if row.failed_ms is None else None,
                failed_ms=row.failed_ms,
                last_problem=row.last_problem,
            )
            for row in rows
        ]
        return Undelivered(waiting, failed, latest)

    return store.read(read)

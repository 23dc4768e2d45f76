"""What the ledger says: its totals, how far it has come, and what it could not read, at one moment.

In the flow: each scrape reads it anew, in one transaction. Reads only.
"""

import json
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select

from ...scheduler.engine.journal_following import Position
from ..database import Database, now_ms
from ..schema.notification_tables import TEST, waits
from ..schema.tables import journals, notifications, totals
from ..standing import read_up_to
from ..unrestored import Unrestored, unrestored


@dataclass(frozen=True, slots=True)
class Total:
    """A counter, or a bucket or the sum of a histogram."""

    labels: dict[str, str]
    bucket: str
    """Empty for a counter."""
    value: int


@dataclass(frozen=True, slots=True)
class LedgerFigures:
    """The ledger at one moment."""

    totals: dict[str, list[Total]]
    """By metric."""
    position: Position | None
    """How far the journal was read; None: it never was."""
    waiting_notifications: int = 0
    oldest_notification_ms: int = 0
    """For how long the one that waits longest has waited."""
    unrestored: Unrestored | None = None
    """What Redis may lack since it began anew."""


def begun_ms(database: Database) -> int:
    """Return since when totals count, in unix milliseconds; 0: nothing was read yet.

    Raises:
        LedgerUnavailable: If the database does not answer.
        LedgerRefused: If it will not do it.
    """
    with database.reading() as connection:
        return connection.execute(select(func.coalesce(func.min(journals.c.begun_ms), 0))).scalar_one()


def read_ledger(database: Database) -> LedgerFigures:
    """Read them.

    Raises:
        LedgerUnavailable: If the database does not answer.
        LedgerRefused: If it will not do it.
    """
    with database.reading() as connection:
        found: dict[str, list[Total]] = {}
        for row in connection.execute(select(totals).order_by(*totals.primary_key)):
            labels: Any = json.loads(row.labels)
            found.setdefault(row.metric, []).append(Total(labels, row.bucket, row.value))
        position = read_up_to(connection)
        of = notifications.c
        of_waiting = select(func.count(), func.coalesce(now_ms() - func.min(of.created_ms), 0)).where(
            waits(), of.event != TEST
        )
        waiting, oldest_ms = connection.execute(of_waiting).one()
        missing = unrestored(connection)
    return LedgerFigures(found, position, waiting, oldest_ms, missing)

"""Writes the changes of operators that were among entries which Redis dropped before they were read.

In the flow: `book.py` calls it at the end of a reconciliation. Redis keeps the latest changes apart from the journal,
each with the id of its entry, so what is written here is known again however often it comes. What retention deleted
because a later change followed may come again, and goes with the next one's pages.
"""

from collections.abc import Sequence
from typing import Any, Final

from sqlalchemy import Connection, select

from ..scheduler.engine.journal import Change, JournalEntry
from .batch import Batch
from .schema.tables import changes, consumer
from .statements import put

_ID: Final = ("entry_ms", "entry_number")


def write_unread(connection: Connection, journal_id: int, in_redis: Sequence[Change]) -> int:
    """Write those changes that the ledger has passed and does not know.

    Args:
        connection: Of a transaction that writes.
        journal_id: Of the journal that is followed.
        in_redis: The latest changes that Redis knows.

    Returns:
        How many there were.
    """
    batch = Batch(journal_id, {})
    batch.add(_entry(each) for each in in_redis)
    # What follows the position is read from the journal.
    ms, _, number = connection.execute(select(consumer.c.entry_id)).scalar_one().partition("-")
    rows = {_id(row): row for row in batch.changes if _id(row) <= (int(ms), int(number))}
    if not rows:
        return 0
    known = select(*(changes.c[name] for name in _ID)).where(changes.c.entry_ms.between(min(rows)[0], max(rows)[0]))
    for found in connection.execute(known):
        rows.pop((found.entry_ms, found.entry_number), None)
    put(connection, changes, list(rows.values()))
    return len(rows)


def _entry(change: Change) -> JournalEntry:
    fields = {"name": change.name, "from": change.before, "to": change.after, "by": change.by}
    return JournalEntry(change.entry_id, change.verb, "", change.at_ms, fields)


def _id(row: dict[str, Any]) -> tuple[int, int]:
    return row["entry_ms"], row["entry_number"]

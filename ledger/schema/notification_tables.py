"""The table of notifications that wait for their delivery, and of those that had it, or will never have it.

In the flow: `bandmaster.items.notifying` writes, sends and deletes them; forgetting a user deletes those of its items.
Times are Unix milliseconds of the database's own clock. `tables.py` has all tables.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, ColumnElement, FromClause, Index, Integer, Table, Text, and_, text

from .columns import BY_BYTES, metadata

TEST: Final = "test"
"""The event of a notification that was only asked for to try an address: it is tried once, and counted nowhere."""
_WAITS: Final = text("sent_ms IS NULL AND failed_ms IS NULL")
_IS_SENT: Final = text("sent_ms IS NOT NULL")
_HAS_FAILED: Final = text("failed_ms IS NOT NULL")

# subject, subject_id: whose address is told, `queue` or `trigger` with its id; it may be deleted by now. body: what is
# sent, the same bytes each time. again_ms: not before. sent_ms: when the receiver took it. failed_ms: when it was given
# up. last_status: what the receiver answered with last.
notifications: Final = Table(
    "notifications",
    metadata,
    Column("delivery_id", BY_BYTES, primary_key=True),
    Column("subject", Text, nullable=False),
    Column("subject_id", Integer, nullable=False),
    Column("subject_name", BY_BYTES, nullable=False),
    Column("item_id", BY_BYTES),
    Column("event", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("again_ms", BigInteger, nullable=False),
    Column("sent_ms", BigInteger),
    Column("failed_ms", BigInteger),
    Column("last_problem", Text),
    Column("last_status", Integer),
    Index(
        "ix_notifications_waiting",
        *("subject", "subject_id", "again_ms"),
        sqlite_where=_WAITS,
        postgresql_where=_WAITS,
    ),
    Index("ix_notifications_sent", "sent_ms", sqlite_where=_IS_SENT, postgresql_where=_IS_SENT),
    Index(
        "ix_notifications_failed",
        *("subject", "subject_id", "failed_ms"),
        sqlite_where=_HAS_FAILED,
        postgresql_where=_HAS_FAILED,
    ),
    Index("ix_notifications_item", "item_id"),
    comment="What is told to the addresses of queues and triggers, written with what it tells of. body: JSON.",
)


def waits(of: FromClause = notifications) -> ColumnElement[bool]:
    """Return whether a notification waits for its delivery: nobody took it, and it was not given up.

    Args:
        of: The table, or an alias of it.
    """
    return and_(of.c.sent_ms.is_(None), of.c.failed_ms.is_(None))

"""The ledger's tables, for SQLite and PostgreSQL alike.

In the flow: the consumer writes them, the history reads them. Times are Unix milliseconds of the Redis server's clock,
as in the journal. This module has all tables; those of figures, items, triggers and waits stand in files of their own.
`migrations/` makes the tables; a test compares what it makes with this module.
"""

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    Table,
    Text,
    text,
)

from .columns import BY_BYTES, metadata
from .figure_tables import action, queue_stats, totals
from .item_tables import item_changes, item_queues, queue_items
from .notification_tables import notifications
from .trigger_tables import firings, triggers
from .wait_tables import wait_counts, wait_positions, wait_sums

__all__ = [
    "action",
    "changes",
    "compatibility",
    "consumer",
    "executions",
    "firings",
    "gaps",
    "holds",
    "item_changes",
    "item_queues",
    "journals",
    "metadata",
    "notifications",
    "payloads",
    "queue_items",
    "queue_stats",
    "results",
    "tokens",
    "totals",
    "transitions",
    "triggers",
    "wait_counts",
    "wait_positions",
    "wait_sums",
]

journals: Final = Table(
    "journals",
    metadata,
    Column("journal_id", Integer, primary_key=True, autoincrement=True),
    Column("incarnation", Text, nullable=False, unique=True),
    Column("begun_ms", BigInteger, nullable=False),
    comment="Each journal that was followed: a server that lost its data begins another one.",
)

consumer: Final = Table(
    "consumer",
    metadata,
    Column("consumer_id", Integer, primary_key=True, autoincrement=False),
    Column("queue", Text, nullable=False),
    Column("epoch", BigInteger, nullable=False),
    Column("holder", Text, nullable=False),
    Column("renewed_ms", BigInteger, nullable=False),
    Column("journal_id", Integer, ForeignKey("journals.journal_id")),
    Column("entry_id", Text, nullable=False),
    Column("entry_count", BigInteger, nullable=False),
    Column("is_unsure", Boolean, nullable=False),
    Column("server", Text, nullable=False, server_default=""),
    Column("forgotten_ms", BigInteger, nullable=False, server_default="0"),
    comment="One row: the queue's prefix, which process reads its journal, and how far. Times are the database's.",
)

# revived_in: the journal in which it lives, or lived, again after its end, which an earlier one told.
executions: Final = Table(
    "executions",
    metadata,
    Column("execution_id", BY_BYTES, primary_key=True),
    Column("lane", BY_BYTES, nullable=False),
    Column("action", BY_BYTES, nullable=False),
    Column("user_id", BY_BYTES),
    Column("band", Integer),
    Column("gates", Text, nullable=False),
    Column("state", BY_BYTES, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("reason", Text),
    Column("exit_code", Integer),
    Column("pod", Text),
    Column("pod_uid", Text),
    Column("dead", Boolean, nullable=False),
    Column("score", Double),
    Column("accepted_ms", BigInteger),
    Column("due_ms", BigInteger),
    Column("waiting_ms", BigInteger),
    Column("granted_ms", BigInteger),
    Column("started_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("lost_ms", BigInteger),
    Column("revived_in", Integer),
    Index("ix_executions_accepted", "accepted_ms", "execution_id"),
    Index("ix_executions_state", "state", "accepted_ms", "execution_id"),
    Index("ix_executions_action", "action", "accepted_ms", "execution_id"),
    Index("ix_executions_user", "user_id", "accepted_ms", "execution_id"),
    Index("ix_executions_lane", "lane", "accepted_ms", "execution_id"),
    Index("ix_executions_band", "band", "accepted_ms", "execution_id"),
    Index(
        "ix_executions_pending",
        "action",
        "accepted_ms",
        sqlite_where=text("state = 'PENDING'"),
        postgresql_where=text("state = 'PENDING'"),
    ),
    Index(
        "ix_executions_due",
        "due_ms",
        "execution_id",
        sqlite_where=text("state = 'SCHEDULED'"),
        postgresql_where=text("state = 'SCHEDULED'"),
    ),
    Index("ix_executions_ended", "ended_ms"),
    Index(
        "ix_executions_lost",
        "lost_ms",
        sqlite_where=text("lost_ms IS NOT NULL"),
        postgresql_where=text("lost_ms IS NOT NULL"),
    ),
    Index(
        "ix_executions_revived",
        "revived_in",
        sqlite_where=text("revived_in IS NOT NULL"),
        postgresql_where=text("revived_in IS NOT NULL"),
    ),
    comment="The current state of every execution that was heard of.",
)

payloads: Final = Table(
    "payloads",
    metadata,
    Column("execution_id", BY_BYTES, primary_key=True),
    Column("event", LargeBinary),
    Column("message", LargeBinary),
    Column("timeout_ms", BigInteger, nullable=False),
    Column("expires_ms", BigInteger),
    Column("lasting", Text, nullable=False),
    comment="What an execution needs to run: an event, a message or both. Apart, since it may be secret.",
)

results: Final = Table(
    "results",
    metadata,
    Column("execution_id", BY_BYTES, primary_key=True),
    Column("result", LargeBinary, nullable=False),
    comment="What an execution left: exit code, duration and the end of its output, or the exception, as JSON.",
)

transitions: Final = Table(
    "transitions",
    metadata,
    Column("journal_id", Integer, ForeignKey("journals.journal_id"), primary_key=True),
    Column("entry_ms", BigInteger, primary_key=True),
    Column("entry_number", BigInteger, primary_key=True),
    Column("execution_id", BY_BYTES, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("verb", Text, nullable=False),
    Column("state", Text),
    Column("attempt", Integer),
    Column("reason", Text),
    Column("details", Text),
    Column("changed_by", Text),
    Index("ix_transitions_execution", "execution_id", "journal_id", "entry_ms", "entry_number"),
    Index(
        "ix_transitions_changed_by",
        "entry_ms",
        "entry_number",
        sqlite_where=text("changed_by IS NOT NULL"),
        postgresql_where=text("changed_by IS NOT NULL"),
    ),
    Index(
        "ix_transitions_refused",
        "entry_ms",
        "entry_number",
        sqlite_where=text("verb = 'reject'"),
        postgresql_where=text("verb = 'reject'"),
    ),
    comment="The journal's entries about executions. entry_ms and entry_number are the two parts of an entry's id.",
)

# Erased users, dropped counters, and logins and logouts as well: the comment is that of the first migration.
changes: Final = Table(
    "changes",
    metadata,
    Column("journal_id", Integer, ForeignKey("journals.journal_id"), primary_key=True),
    Column("entry_ms", BigInteger, primary_key=True),
    Column("entry_number", BigInteger, primary_key=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("verb", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("value_before", Text),
    Column("value_after", Text),
    Column("changed_by", Text),
    Index("ix_changes_name", "name", "at_ms"),
    comment="The journal's entries about limits, pauses and settings. No value: there was none, or is none now.",
)

# magnitude: how long it lasted, once it ended, by which those of a moment are found (`magnitudes.py`). lane: in the row
# of the action's gate alone, the lane whose slot was held. The comment is that of the first migration.
holds: Final = Table(
    "holds",
    metadata,
    Column("execution_id", BY_BYTES, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("since_ms", BigInteger, primary_key=True),
    Column("gate", Text, primary_key=True),
    Column("until_ms", BigInteger),
    Column("magnitude", Integer),
    Column("lane", BY_BYTES),
    Index("ix_holds_gate", "gate", "since_ms"),
    Index("ix_holds_magnitude", "gate", "magnitude", "since_ms"),
    Index(
        "ix_holds_lane",
        "lane",
        "since_ms",
        sqlite_where=text("lane IS NOT NULL"),
        postgresql_where=text("lane IS NOT NULL"),
    ),
    Index(
        "ix_holds_lane_magnitude",
        "lane",
        "magnitude",
        "since_ms",
        sqlite_where=text("lane IS NOT NULL"),
        postgresql_where=text("lane IS NOT NULL"),
    ),
    comment="From when to when an attempt held a gate. No until_ms: it still does.",
)

# Damaged entries and those that the database refused as well: the comment is that of the first migration. since_ms:
# before it, all was read; no value: an earlier release noticed it.
gaps: Final = Table(
    "gaps",
    metadata,
    Column("journal_id", Integer, ForeignKey("journals.journal_id"), primary_key=True),
    Column("entry_count", BigInteger, primary_key=True),
    Column("missed", BigInteger, nullable=False),
    Column("noticed_ms", BigInteger, nullable=False),
    Column("since_ms", BigInteger),
    comment="Entries that Redis dropped before they were read: how many, after how many.",
)

# robot_id, queues: of a robot's token, whose it is and from which queues it takes, a line each; none: from any.
tokens: Final = Table(
    "tokens",
    metadata,
    Column("token_id", Text, primary_key=True),
    Column("secret_digest", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("scopes", Text, nullable=False),
    Column("max_band", Integer, nullable=False),
    Column("gates", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("expires_ms", BigInteger),
    Column("revoked_ms", BigInteger),
    Column("revoked_by", Text),
    Column("used_ms", BigInteger),
    Column("robot_id", Text),
    Column("queues", Text),
    comment="Who may call the API. No secret is kept, only its SHA-256. gates: patterns, a line each; none: any.",
)

compatibility: Final = Table(
    "compatibility",
    metadata,
    Column("compatibility_id", Integer, primary_key=True, autoincrement=False),
    Column("compatible_from", Text, nullable=False),
    comment="One row: the oldest revision whose release may read and write these tables.",
)

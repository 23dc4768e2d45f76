"""The tables of queues and their items: work for robots and people.

In the flow: `bandmaster.items` writes and reads them, retention and forgetting delete from them. Times are Unix
milliseconds of the database's own clock. `tables.py` has all tables.
"""

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, text

from .columns import BY_BYTES, metadata

_IS_NEW: Final = text("status = 'NEW'")
_IS_POSTPONED: Final = text("status = 'POSTPONED'")
_IS_CLAIMED: Final = text("status = 'IN_PROGRESS'")
_IS_KEPT_UNIQUE: Final = text("unique_reference IS NOT NULL")
_HAS_CLAIM: Final = text("claim_key IS NOT NULL")
_HAS_ADD_KEY: Final = text("add_key IS NOT NULL")
_HAS_JOB: Final = text("job_id IS NOT NULL")
_HAS_ROBOT: Final = text("locked_by_robot_id IS NOT NULL")
_OF_ROBOT: Final = ("locked_by_robot_id", "created_ms", "item_id")
_HAS_ENDED: Final = text("ended_ms IS NOT NULL")

item_queues: Final = Table(
    "item_queues",
    metadata,
    Column("queue_id", Integer, primary_key=True, autoincrement=True),
    Column("external_id", Text, nullable=False, unique=True),
    Column("name", BY_BYTES, nullable=False, unique=True),
    Column("description", Text),
    Column("max_retries", Integer, nullable=False),
    Column("enforce_unique_reference", Boolean, nullable=False),
    Column("is_active", Boolean, nullable=False),
    Column("payload_schema", Text),
    Column("lease_seconds", Integer, nullable=False),
    Column("retry_seconds", Integer, nullable=False),
    Column("revision", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("notify_url", Text),
    comment="Queues of items. payload_schema: a JSON Schema. revision grows with each change.",
    sqlite_autoincrement=True,
)

# rank: minus the priority, so that one index has the order in which items are handed out, all of it ascending.
# claim_key, add_key, last_outcome: digests by which a request that is sent again is known.
# unique_reference: the reference, where the queue wants it to be unique and the item is not deleted.
queue_items: Final = Table(
    "queue_items",
    metadata,
    Column("item_id", BY_BYTES, primary_key=True),
    Column("queue_id", Integer, ForeignKey("item_queues.queue_id"), nullable=False),
    Column("reference", BY_BYTES),
    Column("unique_reference", BY_BYTES),
    Column("status", BY_BYTES, nullable=False),
    Column("rank", BigInteger, nullable=False),
    Column("deadline_ms", BigInteger, nullable=False),
    Column("payload", Text),
    Column("result", Text),
    Column("error_message", Text),
    Column("failure", Text),
    Column("progress", Text),
    Column("retries", Integer, nullable=False),
    Column("abandoned", Integer, nullable=False),
    Column("locked_by_robot_id", BY_BYTES),
    Column("locked_at_ms", BigInteger),
    Column("locked_until_ms", BigInteger),
    Column("fence", BigInteger, nullable=False),
    Column("claim_key", Text),
    Column("job_id", BY_BYTES),
    Column("add_key", Text),
    Column("last_outcome", Text),
    Column("available_ms", BigInteger),
    Column("revision", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("created_by", Text, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("ended_ms", BigInteger),
    Index(
        "ix_queue_items_next",
        *("queue_id", "rank", "deadline_ms", "created_ms", "item_id"),
        sqlite_where=_IS_NEW,
        postgresql_where=_IS_NEW,
    ),
    Index(
        "ix_queue_items_due",
        *("queue_id", "available_ms"),
        sqlite_where=_IS_POSTPONED,
        postgresql_where=_IS_POSTPONED,
    ),
    Index(
        "ix_queue_items_leases",
        *("queue_id", "locked_until_ms"),
        sqlite_where=_IS_CLAIMED,
        postgresql_where=_IS_CLAIMED,
    ),
    Index("ix_queue_items_claim", "claim_key", sqlite_where=_HAS_CLAIM, postgresql_where=_HAS_CLAIM),
    Index("ix_queue_items_add_key", "add_key", unique=True, sqlite_where=_HAS_ADD_KEY, postgresql_where=_HAS_ADD_KEY),
    Index(
        "ix_queue_items_unique_reference",
        *("queue_id", "unique_reference"),
        unique=True,
        sqlite_where=_IS_KEPT_UNIQUE,
        postgresql_where=_IS_KEPT_UNIQUE,
    ),
    Index("ix_queue_items_status", "queue_id", "status", "created_ms", "item_id"),
    Index("ix_queue_items_queue", "queue_id", "created_ms", "item_id"),
    Index("ix_queue_items_created", "created_ms", "item_id"),
    Index("ix_queue_items_reference", "reference", "created_ms", "item_id"),
    Index("ix_queue_items_robot", *_OF_ROBOT, sqlite_where=_HAS_ROBOT, postgresql_where=_HAS_ROBOT),
    Index("ix_queue_items_job", "job_id", sqlite_where=_HAS_JOB, postgresql_where=_HAS_JOB),
    Index("ix_queue_items_ended", "ended_ms", sqlite_where=_HAS_ENDED, postgresql_where=_HAS_ENDED),
    comment="Items of queues. rank: minus the priority. deadline_ms: without one, the latest there can be.",
)

item_changes: Final = Table(
    "item_changes",
    metadata,
    Column("change_id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("at_ms", BigInteger, nullable=False),
    Column("verb", Text, nullable=False),
    Column("subject", Text, nullable=False),
    Column("value_before", Text),
    Column("value_after", Text),
    Column("changed_by", Text, nullable=False),
    Index("ix_item_changes_at", "at_ms", "change_id"),
    comment="What people changed of queues and items, written with the change.",
)

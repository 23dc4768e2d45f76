"""The tables of triggers, which start executions for items or at their times, and of their firings.

In the flow: `bandmaster.items` writes and reads them, retention deletes firings that ended. Times are Unix milliseconds
of the database's own clock. `tables.py` has all tables.
"""

from typing import Final

from sqlalchemy import BigInteger, Boolean, Column, ForeignKey, Index, Integer, Table, Text, UniqueConstraint, text

from .columns import BY_BYTES, metadata

_LIVES: Final = text("ended_ms IS NULL")
_IS_UNSENT: Final = text("sent_ms IS NULL AND ended_ms IS NULL")
_HAS_ENDED: Final = text("ended_ms IS NOT NULL")
_OF_UNSENT: Final = ("created_ms", "execution_id", "again_ms")
_IS_ENABLED: Final = text("enabled")

# sequence: of the last firing. next_fire_ms: when it is looked at next; none: never, as its line has no further time.
# failures: of firings, one after the other; until backoff_ms it is not looked at.
triggers: Final = Table(
    "triggers",
    metadata,
    Column("trigger_id", Integer, primary_key=True, autoincrement=True),
    Column("external_id", Text, nullable=False, unique=True),
    Column("name", BY_BYTES, nullable=False, unique=True),
    Column("type", Text, nullable=False),
    Column("queue_id", Integer, ForeignKey("item_queues.queue_id")),
    Column("batch_size", Integer, nullable=False),
    Column("polling_interval", Integer, nullable=False),
    Column("enabled", Boolean, nullable=False),
    Column("max_jobs", Integer, nullable=False),
    Column("cron", Text),
    Column("tz", Text, nullable=False),
    Column("command", Text, nullable=False),
    Column("image", Text),
    Column("action", Text, nullable=False),
    Column("user_id", BY_BYTES),
    Column("priority", Text, nullable=False),
    Column("timeout_seconds", Integer, nullable=False),
    Column("sequence", BigInteger, nullable=False),
    Column("last_fired_ms", BigInteger),
    Column("next_fire_ms", BigInteger),
    Column("last_processed_item_id", BY_BYTES),
    Column("failures", Integer, nullable=False),
    Column("backoff_ms", BigInteger),
    Column("last_error", Text),
    Column("revision", BigInteger, nullable=False),
    Column("created_ms", BigInteger, nullable=False),
    Column("updated_ms", BigInteger, nullable=False),
    Column("notify_url", Text),
    Index("ix_triggers_due", "next_fire_ms", sqlite_where=_IS_ENABLED, postgresql_where=_IS_ENABLED),
    Index("ix_triggers_queue", "queue_id"),
    comment="What starts executions: for items of a queue, or at times. command: a JSON list.",
    sqlite_autoincrement=True,
)

# key: the sequence, or the instant of a line of cron, by which a trigger fires once. event: what is sent to Redis, and
# nothing from when that has it. sent_ms: since when. state: of the execution that ended, LOST or REFUSED.
firings: Final = Table(
    "firings",
    metadata,
    Column("execution_id", BY_BYTES, primary_key=True),
    Column("trigger_id", Integer, nullable=False),
    Column("key", Text, nullable=False),
    Column("queue_id", Integer),
    Column("event", Text),
    Column("created_ms", BigInteger, nullable=False),
    Column("again_ms", BigInteger, nullable=False),
    Column("sent_ms", BigInteger),
    Column("ended_ms", BigInteger),
    Column("state", Text),
    UniqueConstraint("trigger_id", "key", name="uq_firings_trigger_id"),
    Index("ix_firings_living", "trigger_id", sqlite_where=_LIVES, postgresql_where=_LIVES),
    Index("ix_firings_latest", "trigger_id", "created_ms", "execution_id"),
    Index("ix_firings_unsent", *_OF_UNSENT, sqlite_where=_IS_UNSENT, postgresql_where=_IS_UNSENT),
    Index("ix_firings_ended", "ended_ms", sqlite_where=_HAS_ENDED, postgresql_where=_HAS_ENDED),
    comment="Executions that triggers start, each written together with its claims of items.",
)

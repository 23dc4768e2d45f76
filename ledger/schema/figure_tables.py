"""The tables of figures: actions with those of their queues, and what metrics count.

In the flow: the consumer writes them with the transitions that they count. The columns and types of `action` and
`queue_stats` are part of the contract with monitoring queries. `tables.py` has all tables.
"""

from typing import Final

from sqlalchemy import BigInteger, Column, DateTime, ForeignKey, Integer, Table, Text

from .columns import BY_BYTES, metadata

action: Final = Table(
    "action",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("ref", BY_BYTES, nullable=False, unique=True),
    comment="The actions whose executions were heard of.",
)

queue_stats: Final = Table(
    "queue_stats",
    metadata,
    Column("action_id", BigInteger().with_variant(Integer, "sqlite"), ForeignKey("action.id"), primary_key=True),
    Column("queue_length", Integer, nullable=False),
    Column("active_count", Integer, nullable=False),
    Column("max_concurrent", Integer),
    Column("oldest_enqueued_at", DateTime(timezone=True)),
    Column("total_enqueued", BigInteger, nullable=False),
    Column("total_completed", BigInteger, nullable=False),
    Column("last_updated", DateTime(timezone=True), nullable=False),
    comment="Figures of each action's queue, written with the transitions that they count.",
)

totals: Final = Table(
    "totals",
    metadata,
    Column("metric", Text, primary_key=True),
    Column("labels", Text, primary_key=True),
    Column("bucket", Text, primary_key=True),
    Column("value", BigInteger, nullable=False),
    comment="Counters and histograms for metrics, written with the transitions that they count. labels: JSON.",
)

"""Tables of queues, their items and what was changed of them; of tokens, the robot and the queues they are bound to.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None

_INDEXES = {
    "next": (["queue_id", "rank", "deadline_ms", "created_ms", "item_id"], "status = 'NEW'"),
    "due": (["queue_id", "available_ms"], "status = 'POSTPONED'"),
    "leases": (["queue_id", "locked_until_ms"], "status = 'IN_PROGRESS'"),
    "claim": (["claim_key"], "claim_key IS NOT NULL"),
    "add_key": (["add_key"], "add_key IS NOT NULL"),
    "unique_reference": (["queue_id", "unique_reference"], "unique_reference IS NOT NULL"),
    "status": (["queue_id", "status", "created_ms", "item_id"], None),
    "queue": (["queue_id", "created_ms", "item_id"], None),
    "created": (["created_ms", "item_id"], None),
    "reference": (["reference", "created_ms", "item_id"], None),
    "robot": (["locked_by_robot_id", "created_ms", "item_id"], "locked_by_robot_id IS NOT NULL"),
    "ended": (["ended_ms"], "ended_ms IS NOT NULL"),
}


def upgrade() -> None:
    is_postgresql = op.get_bind().dialect.name == "postgresql"
    by_bytes = sa.Text(collation="C" if is_postgresql else None)
    op.add_column("tokens", sa.Column("robot_id", sa.Text))
    op.add_column("tokens", sa.Column("queues", sa.Text))
    op.create_table(
        "item_queues",
        sa.Column("queue_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("external_id", sa.Text, nullable=False),
        sa.Column("name", by_bytes, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("max_retries", sa.Integer, nullable=False),
        sa.Column("enforce_unique_reference", sa.Boolean, nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False),
        sa.Column("payload_schema", sa.Text),
        sa.Column("lease_seconds", sa.Integer, nullable=False),
        sa.Column("retry_seconds", sa.Integer, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("revision", "created_ms", "updated_ms")),
        sa.PrimaryKeyConstraint("queue_id", name="pk_item_queues"),
        sa.UniqueConstraint("external_id", name="uq_item_queues_external_id"),
        sa.UniqueConstraint("name", name="uq_item_queues_name"),
        comment="Queues of items. payload_schema: a JSON Schema. revision grows with each change.",
        sqlite_autoincrement=True,
    )
    op.create_table(
        "queue_items",
        sa.Column("item_id", by_bytes, nullable=False),
        sa.Column("queue_id", sa.Integer, nullable=False),
        sa.Column("reference", by_bytes),
        sa.Column("unique_reference", by_bytes),
        sa.Column("status", by_bytes, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("rank", "deadline_ms")),
        *(sa.Column(name, sa.Text) for name in ("payload", "result", "error_message", "failure", "progress")),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("retries", "abandoned")),
        sa.Column("locked_by_robot_id", by_bytes),
        *(sa.Column(name, sa.BigInteger) for name in ("locked_at_ms", "locked_until_ms")),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("claim_key", sa.Text),
        sa.Column("job_id", by_bytes),
        *(sa.Column(name, sa.Text) for name in ("add_key", "last_outcome")),
        sa.Column("available_ms", sa.BigInteger),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("revision", "created_ms")),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
        sa.PrimaryKeyConstraint("item_id", name="pk_queue_items"),
        sa.ForeignKeyConstraint(["queue_id"], ["item_queues.queue_id"], name="fk_queue_items_queue_id"),
        comment="Items of queues. rank: minus the priority. deadline_ms: without one, the latest there can be.",
    )
    for name, (columns, where) in _INDEXES.items():
        of_some = None if where is None else sa.text(where)
        is_unique = name in ("unique_reference", "add_key")
        op.create_index(
            f"ix_queue_items_{name}",
            "queue_items",
            columns,
            unique=is_unique,
            sqlite_where=of_some,
            postgresql_where=of_some,
        )
    op.create_table(
        "item_changes",
        sa.Column("change_id", sa.BigInteger if is_postgresql else sa.Integer, autoincrement=True, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("verb", "subject")),
        *(sa.Column(name, sa.Text) for name in ("value_before", "value_after")),
        sa.Column("changed_by", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name="pk_item_changes"),
        comment="What people changed of queues and items, written with the change.",
    )
    op.create_index("ix_item_changes_at", "item_changes", ["at_ms", "change_id"])


def downgrade() -> None:
    for name in ("item_changes", "queue_items", "item_queues"):
        op.drop_table(name)
    for name in ("queues", "robot_id"):
        op.drop_column("tokens", name)

"""A table of notifications, and the addresses of queues and triggers that get them.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None

_WAITS = "sent_ms IS NULL AND failed_ms IS NULL"
_INDEXES = {
    "waiting": (["subject", "subject_id", "again_ms"], _WAITS),
    "sent": (["sent_ms"], "sent_ms IS NOT NULL"),
    "failed": (["subject", "subject_id", "failed_ms"], "failed_ms IS NOT NULL"),
    "item": (["item_id"], None),
}


def upgrade() -> None:
    by_bytes = sa.Text(collation="C" if op.get_bind().dialect.name == "postgresql" else None)
    for table in ("item_queues", "triggers"):
        op.add_column(table, sa.Column("notify_url", sa.Text))
    op.create_table(
        "notifications",
        sa.Column("delivery_id", by_bytes, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("subject_id", sa.Integer, nullable=False),
        sa.Column("subject_name", by_bytes, nullable=False),
        sa.Column("item_id", by_bytes),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("event", "body")),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("again_ms", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.BigInteger) for name in ("sent_ms", "failed_ms")),
        sa.Column("last_problem", sa.Text),
        sa.Column("last_status", sa.Integer),
        sa.PrimaryKeyConstraint("delivery_id", name="pk_notifications"),
        comment="What is told to the addresses of queues and triggers, written with what it tells of. body: JSON.",
    )
    for name, (columns, where) in _INDEXES.items():
        of_some = None if where is None else sa.text(where)
        op.create_index(
            f"ix_notifications_{name}", "notifications", columns, sqlite_where=of_some, postgresql_where=of_some
        )


def downgrade() -> None:
    op.drop_table("notifications")
    for table in ("triggers", "item_queues"):
        op.drop_column(table, "notify_url")

"""Tables of triggers and of their firings, and an index of the items that an execution works on.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None


def upgrade() -> None:
    by_bytes = sa.Text(collation="C" if op.get_bind().dialect.name == "postgresql" else None)
    op.create_table(
        "triggers",
        sa.Column("trigger_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("external_id", sa.Text, nullable=False),
        sa.Column("name", by_bytes, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("queue_id", sa.Integer),
        *(sa.Column(name, sa.Integer, nullable=False) for name in ("batch_size", "polling_interval")),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("max_jobs", sa.Integer, nullable=False),
        sa.Column("cron", sa.Text),
        *(sa.Column(name, sa.Text, nullable=False) for name in ("tz", "command")),
        sa.Column("image", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("user_id", by_bytes),
        sa.Column("priority", sa.Text, nullable=False),
        sa.Column("timeout_seconds", sa.Integer, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        *(sa.Column(name, sa.BigInteger) for name in ("last_fired_ms", "next_fire_ms")),
        sa.Column("last_processed_item_id", by_bytes),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("backoff_ms", sa.BigInteger),
        sa.Column("last_error", sa.Text),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("revision", "created_ms", "updated_ms")),
        sa.PrimaryKeyConstraint("trigger_id", name="pk_triggers"),
        sa.UniqueConstraint("external_id", name="uq_triggers_external_id"),
        sa.UniqueConstraint("name", name="uq_triggers_name"),
        sa.ForeignKeyConstraint(["queue_id"], ["item_queues.queue_id"], name="fk_triggers_queue_id"),
        comment="What starts executions: for items of a queue, or at times. command: a JSON list.",
        sqlite_autoincrement=True,
    )
    _index("ix_triggers_due", "triggers", "next_fire_ms", where="enabled")
    op.create_index("ix_triggers_queue", "triggers", ["queue_id"])
    op.create_table(
        "firings",
        sa.Column("execution_id", by_bytes, nullable=False),
        sa.Column("trigger_id", sa.Integer, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("queue_id", sa.Integer),
        sa.Column("event", sa.Text),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in ("created_ms", "again_ms")),
        *(sa.Column(name, sa.BigInteger) for name in ("sent_ms", "ended_ms")),
        sa.Column("state", sa.Text),
        sa.PrimaryKeyConstraint("execution_id", name="pk_firings"),
        sa.UniqueConstraint("trigger_id", "key", name="uq_firings_trigger_id"),
        comment="Executions that triggers start, each written together with its claims of items.",
    )
    _index("ix_firings_living", "firings", "trigger_id", where="ended_ms IS NULL")
    op.create_index("ix_firings_latest", "firings", ["trigger_id", "created_ms", "execution_id"])
    unsent = ("created_ms", "execution_id", "again_ms")
    _index("ix_firings_unsent", "firings", *unsent, where="sent_ms IS NULL AND ended_ms IS NULL")
    _index("ix_firings_ended", "firings", "ended_ms", where="ended_ms IS NOT NULL")
    _index("ix_queue_items_job", "queue_items", "job_id", where="job_id IS NOT NULL")


def downgrade() -> None:
    op.drop_index("ix_queue_items_job", "queue_items")
    for name in ("firings", "triggers"):
        op.drop_table(name)


def _index(name: str, table: str, *columns: str, where: str) -> None:
    op.create_index(name, table, columns, sqlite_where=sa.text(where), postgresql_where=sa.text(where))

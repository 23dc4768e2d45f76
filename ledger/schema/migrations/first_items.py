"""The first tables of work items: their queues, triggers and notifications. Step 0100 makes them."""

from typing import Final

import sqlalchemy as sa
from alembic import op

from bandmaster.ledger.schema.migrations.shared import BY_BYTES, COUNTED, index

TABLES: Final = ("triggers", "queue_items", "notifications", "item_queues", "item_changes", "firings")
"""In an order in which they can be dropped: none is referred to by a later one."""


def create() -> None:
    """Make them; there are none yet."""
    op.create_table(
        "firings",
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("trigger_id", sa.Integer, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("queue_id", sa.Integer),
        sa.Column("event", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("again_ms", sa.BigInteger, nullable=False),
        sa.Column("sent_ms", sa.BigInteger),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("state", sa.Text),
        sa.PrimaryKeyConstraint("execution_id", name="pk_firings"),
        sa.UniqueConstraint("trigger_id", "key", name="uq_firings_trigger_id"),
        comment="Executions that triggers start, each written together with its claims of items.",
    )
    index("ix_firings_ended", "firings", ["ended_ms"], where="ended_ms IS NOT NULL")
    index("ix_firings_latest", "firings", ["trigger_id", "created_ms", "execution_id"])
    index("ix_firings_living", "firings", ["trigger_id"], where="ended_ms IS NULL")
    index(
        "ix_firings_unsent",
        "firings",
        ["created_ms", "execution_id", "again_ms"],
        where="sent_ms IS NULL AND ended_ms IS NULL",
    )

    op.create_table(
        "item_changes",
        sa.Column("change_id", COUNTED, autoincrement=True, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("value_before", sa.Text),
        sa.Column("value_after", sa.Text),
        sa.Column("changed_by", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("change_id", name="pk_item_changes"),
        comment="What people changed of queues and items, written with the change.",
    )
    index("ix_item_changes_at", "item_changes", ["at_ms", "change_id"])

    op.create_table(
        "item_queues",
        sa.Column("queue_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("external_id", sa.Text, nullable=False),
        sa.Column("name", BY_BYTES, nullable=False),
        sa.Column("description", sa.Text),
        sa.Column("max_retries", sa.Integer, nullable=False),
        sa.Column("enforce_unique_reference", sa.Boolean, nullable=False),
        sa.Column("is_active", sa.Boolean, nullable=False),
        sa.Column("payload_schema", sa.Text),
        sa.Column("lease_seconds", sa.Integer, nullable=False),
        sa.Column("retry_seconds", sa.Integer, nullable=False),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("notify_url", sa.Text),
        sa.PrimaryKeyConstraint("queue_id", name="pk_item_queues"),
        sa.UniqueConstraint("external_id", name="uq_item_queues_external_id"),
        sa.UniqueConstraint("name", name="uq_item_queues_name"),
        comment="Queues of items. payload_schema: a JSON Schema. revision grows with each change.",
        sqlite_autoincrement=True,
    )

    op.create_table(
        "notifications",
        sa.Column("delivery_id", BY_BYTES, nullable=False),
        sa.Column("subject", sa.Text, nullable=False),
        sa.Column("subject_id", sa.Integer, nullable=False),
        sa.Column("subject_name", BY_BYTES, nullable=False),
        sa.Column("item_id", BY_BYTES),
        sa.Column("event", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("again_ms", sa.BigInteger, nullable=False),
        sa.Column("sent_ms", sa.BigInteger),
        sa.Column("failed_ms", sa.BigInteger),
        sa.Column("last_problem", sa.Text),
        sa.Column("last_status", sa.Integer),
        sa.PrimaryKeyConstraint("delivery_id", name="pk_notifications"),
        comment="What is told to the addresses of queues and triggers, written with what it tells of. body: JSON.",
    )
    index(
        "ix_notifications_failed",
        "notifications",
        ["subject", "subject_id", "failed_ms"],
        where="failed_ms IS NOT NULL",
    )
    index("ix_notifications_item", "notifications", ["item_id"])
    index("ix_notifications_sent", "notifications", ["sent_ms"], where="sent_ms IS NOT NULL")
    index(
        "ix_notifications_waiting",
        "notifications",
        ["subject", "subject_id", "again_ms"],
        where="sent_ms IS NULL AND failed_ms IS NULL",
    )

    op.create_table(
        "queue_items",
        sa.Column("item_id", BY_BYTES, nullable=False),
        sa.Column("queue_id", sa.Integer, nullable=False),
        sa.Column("reference", BY_BYTES),
        sa.Column("unique_reference", BY_BYTES),
        sa.Column("status", BY_BYTES, nullable=False),
        sa.Column("rank", sa.BigInteger, nullable=False),
        sa.Column("deadline_ms", sa.BigInteger, nullable=False),
        sa.Column("payload", sa.Text),
        sa.Column("result", sa.Text),
        sa.Column("error_message", sa.Text),
        sa.Column("failure", sa.Text),
        sa.Column("progress", sa.Text),
        sa.Column("retries", sa.Integer, nullable=False),
        sa.Column("abandoned", sa.Integer, nullable=False),
        sa.Column("locked_by_robot_id", BY_BYTES),
        sa.Column("locked_at_ms", sa.BigInteger),
        sa.Column("locked_until_ms", sa.BigInteger),
        sa.Column("fence", sa.BigInteger, nullable=False),
        sa.Column("claim_key", sa.Text),
        sa.Column("job_id", BY_BYTES),
        sa.Column("add_key", sa.Text),
        sa.Column("last_outcome", sa.Text),
        sa.Column("available_ms", sa.BigInteger),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("ended_ms", sa.BigInteger),
        sa.ForeignKeyConstraint(["queue_id"], ["item_queues.queue_id"], name="fk_queue_items_queue_id"),
        sa.PrimaryKeyConstraint("item_id", name="pk_queue_items"),
        comment="Items of queues. rank: minus the priority. deadline_ms: without one, the latest there can be.",
    )
    index("ix_queue_items_add_key", "queue_items", ["add_key"], unique=True, where="add_key IS NOT NULL")
    index("ix_queue_items_claim", "queue_items", ["claim_key"], where="claim_key IS NOT NULL")
    index("ix_queue_items_created", "queue_items", ["created_ms", "item_id"])
    index("ix_queue_items_due", "queue_items", ["queue_id", "available_ms"], where="status = 'POSTPONED'")
    index("ix_queue_items_ended", "queue_items", ["ended_ms"], where="ended_ms IS NOT NULL")
    index("ix_queue_items_job", "queue_items", ["job_id"], where="job_id IS NOT NULL")
    index("ix_queue_items_leases", "queue_items", ["queue_id", "locked_until_ms"], where="status = 'IN_PROGRESS'")
    index(
        "ix_queue_items_next",
        "queue_items",
        ["queue_id", "rank", "deadline_ms", "created_ms", "item_id"],
        where="status = 'NEW'",
    )
    index("ix_queue_items_queue", "queue_items", ["queue_id", "created_ms", "item_id"])
    index("ix_queue_items_reference", "queue_items", ["reference", "created_ms", "item_id"])
    index(
        "ix_queue_items_robot",
        "queue_items",
        ["locked_by_robot_id", "created_ms", "item_id"],
        where="locked_by_robot_id IS NOT NULL",
    )
    index("ix_queue_items_status", "queue_items", ["queue_id", "status", "created_ms", "item_id"])
    index(
        "ix_queue_items_unique_reference",
        "queue_items",
        ["queue_id", "unique_reference"],
        unique=True,
        where="unique_reference IS NOT NULL",
    )

    op.create_table(
        "triggers",
        sa.Column("trigger_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("external_id", sa.Text, nullable=False),
        sa.Column("name", BY_BYTES, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("queue_id", sa.Integer),
        sa.Column("batch_size", sa.Integer, nullable=False),
        sa.Column("polling_interval", sa.Integer, nullable=False),
        sa.Column("enabled", sa.Boolean, nullable=False),
        sa.Column("max_jobs", sa.Integer, nullable=False),
        sa.Column("cron", sa.Text),
        sa.Column("tz", sa.Text, nullable=False),
        sa.Column("command", sa.Text, nullable=False),
        sa.Column("image", sa.Text),
        sa.Column("action", sa.Text, nullable=False),
        sa.Column("user_id", BY_BYTES),
        sa.Column("priority", sa.Text, nullable=False),
        sa.Column("timeout_seconds", sa.Integer, nullable=False),
        sa.Column("sequence", sa.BigInteger, nullable=False),
        sa.Column("last_fired_ms", sa.BigInteger),
        sa.Column("next_fire_ms", sa.BigInteger),
        sa.Column("last_processed_item_id", BY_BYTES),
        sa.Column("failures", sa.Integer, nullable=False),
        sa.Column("backoff_ms", sa.BigInteger),
        sa.Column("last_error", sa.Text),
        sa.Column("revision", sa.BigInteger, nullable=False),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("updated_ms", sa.BigInteger, nullable=False),
        sa.Column("notify_url", sa.Text),
        sa.ForeignKeyConstraint(["queue_id"], ["item_queues.queue_id"], name="fk_triggers_queue_id"),
        sa.PrimaryKeyConstraint("trigger_id", name="pk_triggers"),
        sa.UniqueConstraint("external_id", name="uq_triggers_external_id"),
        sa.UniqueConstraint("name", name="uq_triggers_name"),
        comment="What starts executions: for items of a queue, or at times. command: a JSON list.",
        sqlite_autoincrement=True,
    )
    index("ix_triggers_due", "triggers", ["next_fire_ms"], where="enabled")
    index("ix_triggers_queue", "triggers", ["queue_id"])

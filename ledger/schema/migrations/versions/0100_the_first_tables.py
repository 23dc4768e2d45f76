"""The first tables.

Written down as they were then: later releases change them by further steps, never here. Steps count from 0100 on: a
database with a smaller number is of before the first release, and refused (`SchemaOfBefore`).
"""

import sqlalchemy as sa
from alembic import op

from bandmaster.ledger.schema.migrations import first_items
from bandmaster.ledger.schema.migrations.shared import BY_BYTES, COUNTED, index

revision = "0100"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    first_items.create()

    op.create_table(
        "action",
        sa.Column("id", COUNTED, autoincrement=True, nullable=False),
        sa.Column("ref", BY_BYTES, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_action"),
        sa.UniqueConstraint("ref", name="uq_action_ref"),
        comment="The actions whose executions were heard of.",
    )

    made = op.create_table(
        "compatibility",
        sa.Column("compatibility_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("compatible_from", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("compatibility_id", name="pk_compatibility"),
        comment="One row: the oldest revision whose release may read and write these tables.",
    )
    # Releases read this table as it is: no step changes it but for the value in its row.
    op.bulk_insert(made, [{"compatibility_id": 1, "compatible_from": revision}])

    op.create_table(
        "executions",
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("lane", BY_BYTES, nullable=False),
        sa.Column("action", BY_BYTES, nullable=False),
        sa.Column("user_id", BY_BYTES),
        sa.Column("band", sa.Integer),
        sa.Column("gates", sa.Text, nullable=False),
        sa.Column("state", BY_BYTES, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("reason", sa.Text),
        sa.Column("exit_code", sa.Integer),
        sa.Column("pod", sa.Text),
        sa.Column("pod_uid", sa.Text),
        sa.Column("dead", sa.Boolean, nullable=False),
        sa.Column("score", sa.Double),
        sa.Column("accepted_ms", sa.BigInteger),
        sa.Column("due_ms", sa.BigInteger),
        sa.Column("waiting_ms", sa.BigInteger),
        sa.Column("granted_ms", sa.BigInteger),
        sa.Column("started_ms", sa.BigInteger),
        sa.Column("ended_ms", sa.BigInteger),
        sa.Column("lost_ms", sa.BigInteger),
        sa.Column("revived_in", sa.Integer),
        sa.PrimaryKeyConstraint("execution_id", name="pk_executions"),
        comment="The current state of every execution that was heard of.",
    )
    index("ix_executions_accepted", "executions", ["accepted_ms", "execution_id"])
    index("ix_executions_action", "executions", ["action", "accepted_ms", "execution_id"])
    index("ix_executions_band", "executions", ["band", "accepted_ms", "execution_id"])
    index("ix_executions_due", "executions", ["due_ms", "execution_id"], where="state = 'SCHEDULED'")
    index("ix_executions_ended", "executions", ["ended_ms"])
    index("ix_executions_lane", "executions", ["lane", "accepted_ms", "execution_id"])
    index("ix_executions_lost", "executions", ["lost_ms"], where="lost_ms IS NOT NULL")
    index("ix_executions_pending", "executions", ["action", "accepted_ms"], where="state = 'PENDING'")
    index("ix_executions_revived", "executions", ["revived_in"], where="revived_in IS NOT NULL")
    index("ix_executions_state", "executions", ["state", "accepted_ms", "execution_id"])
    index("ix_executions_user", "executions", ["user_id", "accepted_ms", "execution_id"])

    op.create_table(
        "holds",
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("since_ms", sa.BigInteger, nullable=False),
        sa.Column("gate", sa.Text, nullable=False),
        sa.Column("until_ms", sa.BigInteger),
        sa.Column("magnitude", sa.Integer),
        sa.Column("lane", BY_BYTES),
        sa.PrimaryKeyConstraint("execution_id", "attempt", "since_ms", "gate", name="pk_holds"),
        comment="From when to when an attempt held a gate. No until_ms: it still does.",
    )
    index("ix_holds_gate", "holds", ["gate", "since_ms"])
    index("ix_holds_lane", "holds", ["lane", "since_ms"], where="lane IS NOT NULL")
    index("ix_holds_lane_magnitude", "holds", ["lane", "magnitude", "since_ms"], where="lane IS NOT NULL")
    index("ix_holds_magnitude", "holds", ["gate", "magnitude", "since_ms"])

    op.create_table(
        "journals",
        sa.Column("journal_id", sa.Integer, autoincrement=True, nullable=False),
        sa.Column("incarnation", sa.Text, nullable=False),
        sa.Column("begun_ms", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("journal_id", name="pk_journals"),
        sa.UniqueConstraint("incarnation", name="uq_journals_incarnation"),
        comment="Each journal that was followed: a server that lost its data begins another one.",
    )

    op.create_table(
        "payloads",
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("event", sa.LargeBinary),
        sa.Column("message", sa.LargeBinary),
        sa.Column("timeout_ms", sa.BigInteger, nullable=False),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("lasting", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("execution_id", name="pk_payloads"),
        comment="What an execution needs to run: an event, a message or both. Apart, since it may be secret.",
    )

    op.create_table(
        "results",
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("result", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("execution_id", name="pk_results"),
        comment="What an execution left: exit code, duration and the end of its output, or the exception, as JSON.",
    )

    op.create_table(
        "tokens",
        sa.Column("token_id", sa.Text, nullable=False),
        sa.Column("secret_digest", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("max_band", sa.Integer, nullable=False),
        sa.Column("gates", sa.Text),
        sa.Column("created_ms", sa.BigInteger, nullable=False),
        sa.Column("created_by", sa.Text, nullable=False),
        sa.Column("expires_ms", sa.BigInteger),
        sa.Column("revoked_ms", sa.BigInteger),
        sa.Column("revoked_by", sa.Text),
        sa.Column("used_ms", sa.BigInteger),
        sa.Column("robot_id", sa.Text),
        sa.Column("queues", sa.Text),
        sa.PrimaryKeyConstraint("token_id", name="pk_tokens"),
        comment="Who may call the API. No secret is kept, only its SHA-256. gates: patterns, a line each; none: any.",
    )

    op.create_table(
        "totals",
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("bucket", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("metric", "labels", "bucket", name="pk_totals"),
        comment="Counters and histograms for metrics, written with the transitions that they count. labels: JSON.",
    )

    op.create_table(
        "wait_counts",
        sa.Column("by_what", sa.Text, nullable=False),
        sa.Column("hour_ms", sa.BigInteger, nullable=False),
        sa.Column("name", BY_BYTES, nullable=False),
        sa.Column("waits", sa.BigInteger, nullable=False),
        sa.Column("summed", sa.BigInteger, nullable=False),
        sa.Column("sampled", sa.BigInteger, nullable=False),
        sa.Column("incomplete", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("by_what", "hour_ms", "name", name="pk_wait_counts"),
        comment="How many waits ended, and of how many wait_sums tells. The rest was passed over.",
    )

    op.create_table(
        "wait_sums",
        sa.Column("by_what", sa.Text, nullable=False),
        sa.Column("hour_ms", sa.BigInteger, nullable=False),
        sa.Column("name", BY_BYTES, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("behind", BY_BYTES, nullable=False),
        sa.Column("ms", sa.BigInteger, nullable=False),
        sa.Column("waits", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("by_what", "hour_ms", "name", "cause", "behind", name="pk_wait_sums"),
        comment="What executions waited for, by the hour in which their waits ended. No name: all others of the hour.",
    )

    op.create_table(
        "changes",
        sa.Column("journal_id", sa.Integer, nullable=False),
        sa.Column("entry_ms", sa.BigInteger, nullable=False),
        sa.Column("entry_number", sa.BigInteger, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("value_before", sa.Text),
        sa.Column("value_after", sa.Text),
        sa.Column("changed_by", sa.Text),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_changes_journal_id"),
        sa.PrimaryKeyConstraint("journal_id", "entry_ms", "entry_number", name="pk_changes"),
        comment="The journal's entries about limits, pauses and settings. No value: there was none, or is none now.",
    )
    index("ix_changes_name", "changes", ["name", "at_ms"])

    op.create_table(
        "consumer",
        sa.Column("consumer_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("queue", sa.Text, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("holder", sa.Text, nullable=False),
        sa.Column("renewed_ms", sa.BigInteger, nullable=False),
        sa.Column("journal_id", sa.Integer),
        sa.Column("entry_id", sa.Text, nullable=False),
        sa.Column("entry_count", sa.BigInteger, nullable=False),
        sa.Column("is_unsure", sa.Boolean, nullable=False),
        sa.Column("server", sa.Text, server_default="", nullable=False),
        sa.Column("forgotten_ms", sa.BigInteger, server_default="0", nullable=False),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_consumer_journal_id"),
        sa.PrimaryKeyConstraint("consumer_id", name="pk_consumer"),
        comment="One row: the queue's prefix, which process reads its journal, and how far. Times are the database's.",
    )

    op.create_table(
        "gaps",
        sa.Column("journal_id", sa.Integer, nullable=False),
        sa.Column("entry_count", sa.BigInteger, nullable=False),
        sa.Column("missed", sa.BigInteger, nullable=False),
        sa.Column("noticed_ms", sa.BigInteger, nullable=False),
        sa.Column("since_ms", sa.BigInteger),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_gaps_journal_id"),
        sa.PrimaryKeyConstraint("journal_id", "entry_count", name="pk_gaps"),
        comment="Entries that Redis dropped before they were read: how many, after how many.",
    )

    op.create_table(
        "queue_stats",
        sa.Column("action_id", COUNTED, nullable=False),
        sa.Column("queue_length", sa.Integer, nullable=False),
        sa.Column("active_count", sa.Integer, nullable=False),
        sa.Column("max_concurrent", sa.Integer),
        sa.Column("oldest_enqueued_at", sa.DateTime(timezone=True)),
        sa.Column("total_enqueued", sa.BigInteger, nullable=False),
        sa.Column("total_completed", sa.BigInteger, nullable=False),
        sa.Column("last_updated", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name="fk_queue_stats_action_id"),
        sa.PrimaryKeyConstraint("action_id", name="pk_queue_stats"),
        comment="Figures of each action's queue, written with the transitions that they count.",
    )

    op.create_table(
        "transitions",
        sa.Column("journal_id", sa.Integer, nullable=False),
        sa.Column("entry_ms", sa.BigInteger, nullable=False),
        sa.Column("entry_number", sa.BigInteger, nullable=False),
        sa.Column("execution_id", BY_BYTES, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("verb", sa.Text, nullable=False),
        sa.Column("state", sa.Text),
        sa.Column("attempt", sa.Integer),
        sa.Column("reason", sa.Text),
        sa.Column("details", sa.Text),
        sa.Column("changed_by", sa.Text),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_transitions_journal_id"),
        sa.PrimaryKeyConstraint("journal_id", "entry_ms", "entry_number", name="pk_transitions"),
        comment="The journal's entries about executions. entry_ms and entry_number are the two parts of an entry's id.",
    )
    index("ix_transitions_changed_by", "transitions", ["entry_ms", "entry_number"], where="changed_by IS NOT NULL")
    index("ix_transitions_execution", "transitions", ["execution_id", "journal_id", "entry_ms", "entry_number"])
    index("ix_transitions_refused", "transitions", ["entry_ms", "entry_number"], where="verb = 'reject'")

    op.create_table(
        "wait_positions",
        sa.Column("journal_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("entry_ms", sa.BigInteger, nullable=False),
        sa.Column("entry_number", sa.BigInteger, nullable=False),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_wait_positions_journal_id"),
        sa.PrimaryKeyConstraint("journal_id", name="pk_wait_positions"),
        comment="Up to which transition of each journal ended waits are summed.",
    )


def downgrade() -> None:
    for table in (
        *("wait_positions", "transitions", "queue_stats", "gaps", "consumer", "changes"),
        *("wait_sums", "wait_counts", "totals", "tokens", "results", "payloads", "journals"),
        *("holds", "executions", "compatibility", "action"),
        *first_items.TABLES,
    ):
        op.drop_table(table)

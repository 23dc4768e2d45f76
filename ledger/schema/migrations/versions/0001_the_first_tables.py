"""The first tables.

Written down as they were then: later releases change them by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "action",
        sa.Column("id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), autoincrement=True, nullable=False),
        sa.Column("ref", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_action")),
        sa.UniqueConstraint("ref", name=op.f("uq_action_ref")),
        comment="The actions whose executions were heard of.",
    )
    op.create_table(
        "executions",
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("lane", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("user_id", sa.Text(), nullable=True),
        sa.Column("band", sa.Integer(), nullable=True),
        sa.Column("gates", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("pod", sa.Text(), nullable=True),
        sa.Column("dead", sa.Boolean(), nullable=False),
        sa.Column("accepted_ms", sa.BigInteger(), nullable=True),
        sa.Column("due_ms", sa.BigInteger(), nullable=True),
        sa.Column("waiting_ms", sa.BigInteger(), nullable=True),
        sa.Column("granted_ms", sa.BigInteger(), nullable=True),
        sa.Column("started_ms", sa.BigInteger(), nullable=True),
        sa.Column("ended_ms", sa.BigInteger(), nullable=True),
        sa.Column("lost_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("execution_id", name=op.f("pk_executions")),
        comment="The current state of every execution that was heard of.",
    )
    with op.batch_alter_table("executions") as batch_op:
        batch_op.create_index("ix_executions_accepted", ["accepted_ms", "execution_id"])
        batch_op.create_index("ix_executions_action", ["action", "state", "accepted_ms"])
        batch_op.create_index("ix_executions_state", ["state", "accepted_ms"])
        batch_op.create_index("ix_executions_user", ["user_id", "accepted_ms"])

    op.create_table(
        "holds",
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("since_ms", sa.BigInteger(), nullable=False),
        sa.Column("gate", sa.Text(), nullable=False),
        sa.Column("until_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("execution_id", "attempt", "since_ms", "gate", name=op.f("pk_holds")),
        comment="From when to when an attempt held a gate. No until_ms: it still does.",
    )
    with op.batch_alter_table("holds") as batch_op:
        batch_op.create_index("ix_holds_gate", ["gate", "since_ms"])

    op.create_table(
        "journals",
        sa.Column("journal_id", sa.Integer(), autoincrement=True, nullable=False),
        sa.Column("incarnation", sa.Text(), nullable=False),
        sa.Column("begun_ms", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("journal_id", name=op.f("pk_journals")),
        sa.UniqueConstraint("incarnation", name=op.f("uq_journals_incarnation")),
        comment="Each journal that was followed: a server that lost its data begins another one.",
    )
    op.create_table(
        "changes",
        sa.Column("journal_id", sa.Integer(), nullable=False),
        sa.Column("entry_ms", sa.BigInteger(), nullable=False),
        sa.Column("entry_number", sa.BigInteger(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("value_before", sa.Text(), nullable=True),
        sa.Column("value_after", sa.Text(), nullable=True),
        sa.Column("changed_by", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name=op.f("fk_changes_journal_id")),
        sa.PrimaryKeyConstraint("journal_id", "entry_ms", "entry_number", name=op.f("pk_changes")),
        comment="The journal's entries about limits, pauses and settings. No value: there was none, or is none now.",
    )
    with op.batch_alter_table("changes") as batch_op:
        batch_op.create_index("ix_changes_name", ["name", "at_ms"])

    op.create_table(
        "consumer",
        sa.Column("consumer_id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("queue", sa.Text(), nullable=False),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.Column("holder", sa.Text(), nullable=False),
        sa.Column("renewed_ms", sa.BigInteger(), nullable=False),
        sa.Column("journal_id", sa.Integer(), nullable=True),
        sa.Column("entry_id", sa.Text(), nullable=False),
        sa.Column("entry_count", sa.BigInteger(), nullable=False),
        sa.Column("is_unsure", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name=op.f("fk_consumer_journal_id")),
        sa.PrimaryKeyConstraint("consumer_id", name=op.f("pk_consumer")),
        comment="One row: the queue's prefix, which process reads its journal, and how far. Times are the database's.",
    )
    op.create_table(
        "gaps",
        sa.Column("journal_id", sa.Integer(), nullable=False),
        sa.Column("entry_count", sa.BigInteger(), nullable=False),
        sa.Column("missed", sa.BigInteger(), nullable=False),
        sa.Column("noticed_ms", sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name=op.f("fk_gaps_journal_id")),
        sa.PrimaryKeyConstraint("journal_id", "entry_count", name=op.f("pk_gaps")),
        comment="Entries that Redis dropped before they were read: how many, after how many.",
    )
    op.create_table(
        "queue_stats",
        sa.Column("action_id", sa.BigInteger().with_variant(sa.Integer(), "sqlite"), nullable=False),
        sa.Column("queue_length", sa.Integer(), nullable=False),
        sa.Column("active_count", sa.Integer(), nullable=False),
        sa.Column("max_concurrent", sa.Integer(), nullable=True),
        sa.Column("oldest_enqueued_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("total_enqueued", sa.BigInteger(), nullable=False),
        sa.Column("total_completed", sa.BigInteger(), nullable=False),
        sa.Column("last_updated", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["action_id"], ["action.id"], name=op.f("fk_queue_stats_action_id")),
        sa.PrimaryKeyConstraint("action_id", name=op.f("pk_queue_stats")),
        comment="Figures of each action's queue, written with the transitions that they count.",
    )
    op.create_table(
        "transitions",
        sa.Column("journal_id", sa.Integer(), nullable=False),
        sa.Column("entry_ms", sa.BigInteger(), nullable=False),
        sa.Column("entry_number", sa.BigInteger(), nullable=False),
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("at_ms", sa.BigInteger(), nullable=False),
        sa.Column("verb", sa.Text(), nullable=False),
        sa.Column("state", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=True),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("details", sa.Text(), nullable=True),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name=op.f("fk_transitions_journal_id")),
        sa.PrimaryKeyConstraint("journal_id", "entry_ms", "entry_number", name=op.f("pk_transitions")),
        comment="The journal's entries about executions. entry_ms and entry_number are the two parts of an entry's id.",
    )
    with op.batch_alter_table("transitions") as batch_op:
        batch_op.create_index(
            "ix_transitions_execution", ["execution_id", "journal_id", "entry_ms", "entry_number"], unique=False
        )


def downgrade() -> None:
    for table in (
        *("transitions", "queue_stats", "gaps", "consumer", "changes"),
        *("journals", "holds", "executions", "action"),
    ):
        op.drop_table(table)

"""What an execution needs to run and what it left, each in a table of its own; its place; what was forgotten.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "payloads",
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("event", sa.LargeBinary(), nullable=True),
        sa.Column("message", sa.LargeBinary(), nullable=True),
        sa.Column("timeout_ms", sa.BigInteger(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.Column("lasting", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("execution_id", name=op.f("pk_payloads")),
        comment="What an execution needs to run: an event, a message or both. Apart, since it may be secret.",
    )
    op.create_table(
        "results",
        sa.Column("execution_id", sa.Text(), nullable=False),
        sa.Column("result", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("execution_id", name=op.f("pk_results")),
        comment="What an execution left: exit code, duration and the end of its output, or the exception, as JSON.",
    )
    op.add_column("executions", sa.Column("exit_code", sa.Integer(), nullable=True))
    op.add_column("executions", sa.Column("pod_uid", sa.Text(), nullable=True))
    op.add_column("executions", sa.Column("score", sa.Double(), nullable=True))
    op.add_column("consumer", sa.Column("forgotten_ms", sa.BigInteger(), server_default="0", nullable=False))
    op.create_index("ix_executions_ended", "executions", ["ended_ms"])


def downgrade() -> None:
    op.drop_index("ix_executions_ended", "executions")
    with op.batch_alter_table("consumer") as batch_op:
        batch_op.drop_column("forgotten_ms")
    with op.batch_alter_table("executions") as batch_op:
        batch_op.drop_column("score")
        batch_op.drop_column("pod_uid")
        batch_op.drop_column("exit_code")
    op.drop_table("results")
    op.drop_table("payloads")

"""Indexes by which what is old is found: lost executions, and refusals.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    lost, refused = sa.text("lost_ms IS NOT NULL"), sa.text("verb = 'reject'")
    op.create_index("ix_executions_lost", "executions", ["lost_ms"], sqlite_where=lost, postgresql_where=lost)
    op.create_index(
        "ix_transitions_refused",
        "transitions",
        ["entry_ms", "entry_number"],
        sqlite_where=refused,
        postgresql_where=refused,
    )


def downgrade() -> None:
    op.drop_index("ix_transitions_refused", "transitions")
    op.drop_index("ix_executions_lost", "executions")

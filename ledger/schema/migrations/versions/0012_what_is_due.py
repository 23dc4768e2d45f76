"""An index of what is scheduled, by when it is due, for monitoring queries: nothing is started from the ledger.

It has the rows of scheduled executions alone, so that it stays small whatever the history holds. Written down as it was
then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None


def upgrade() -> None:
    scheduled = sa.text("state = 'SCHEDULED'")
    op.create_index(
        "ix_executions_due",
        "executions",
        ["due_ms", "execution_id"],
        sqlite_where=scheduled,
        postgresql_where=scheduled,
    )


def downgrade() -> None:
    op.drop_index("ix_executions_due", table_name="executions")

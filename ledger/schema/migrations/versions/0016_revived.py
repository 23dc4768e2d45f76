"""A column of executions that says that one lives again in a later journal, though it had ended.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("executions", sa.Column("revived_in", sa.Integer))
    of_some = sa.text("revived_in IS NOT NULL")
    op.create_index(
        "ix_executions_revived", "executions", ["revived_in"], sqlite_where=of_some, postgresql_where=of_some
    )


def downgrade() -> None:
    op.drop_index("ix_executions_revived", table_name="executions")
    op.drop_column("executions", "revived_in")

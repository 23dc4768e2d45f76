"""The position tells which server process had the journal: one that was restored keeps the journal's name.

Empty where it is not known; the next page of the journal tells it. Written down as it was then: later releases change
it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("consumer", sa.Column("server", sa.Text, nullable=False, server_default=""))


def downgrade() -> None:
    with op.batch_alter_table("consumer") as batch:
        batch.drop_column("server")

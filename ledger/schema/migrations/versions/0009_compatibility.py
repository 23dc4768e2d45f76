"""The tables tell which releases may use them: whoever does not know their revision looks here.

Written down as it was then: later releases change it by further steps, never here. Releases read this table as it is:
no step changes it but for the value in its row.
"""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    made = op.create_table(
        "compatibility",
        sa.Column("compatibility_id", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("compatible_from", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("compatibility_id", name="pk_compatibility"),
        comment="One row: the oldest revision whose release may read and write these tables.",
    )
    op.bulk_insert(made, [{"compatibility_id": 1, "compatible_from": revision}])


def downgrade() -> None:
    op.drop_table("compatibility")

"""Totals: counters and histograms of all that ever happened, for metrics.

They begin at 0 with this step: what was read before it is not counted. Written down as it was then: later releases
change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "totals",
        sa.Column("metric", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("bucket", sa.Text, nullable=False),
        sa.Column("value", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("metric", "labels", "bucket", name="pk_totals"),
        comment="Counters and histograms for metrics, written with the transitions that they count. labels: JSON.",
    )


def downgrade() -> None:
    op.drop_table("totals")

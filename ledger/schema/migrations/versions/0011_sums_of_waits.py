"""Tables with sums of what executions waited for; and since when entries are missing, where some are.

Waits that ended before this step are not summed: each journal's position begins at its latest transition. Written down
as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

_COUNTS = ("waits", "summed", "sampled", "incomplete")


def upgrade() -> None:
    by_bytes = sa.Text(collation="C" if op.get_bind().dialect.name == "postgresql" else None)
    op.add_column("gaps", sa.Column("since_ms", sa.BigInteger))
    op.create_table(
        "wait_sums",
        sa.Column("by_what", sa.Text, nullable=False),
        sa.Column("hour_ms", sa.BigInteger, nullable=False),
        sa.Column("name", by_bytes, nullable=False),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("behind", by_bytes, nullable=False),
        sa.Column("ms", sa.BigInteger, nullable=False),
        sa.Column("waits", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("by_what", "hour_ms", "name", "cause", "behind", name="pk_wait_sums"),
        comment="What executions waited for, by the hour in which their waits ended. No name: all others of the hour.",
    )
    op.create_table(
        "wait_counts",
        sa.Column("by_what", sa.Text, nullable=False),
        sa.Column("hour_ms", sa.BigInteger, nullable=False),
        sa.Column("name", by_bytes, nullable=False),
        *(sa.Column(name, sa.BigInteger, nullable=False) for name in _COUNTS),
        sa.PrimaryKeyConstraint("by_what", "hour_ms", "name", name="pk_wait_counts"),
        comment="How many waits ended, and of how many wait_sums tells. The rest was passed over.",
    )
    op.create_table(
        "wait_positions",
        sa.Column("journal_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("entry_ms", sa.BigInteger, nullable=False),
        sa.Column("entry_number", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("journal_id", name="pk_wait_positions"),
        sa.ForeignKeyConstraint(["journal_id"], ["journals.journal_id"], name="fk_wait_positions_journal_id"),
        comment="Up to which transition of each journal ended waits are summed.",
    )
    _begin_at_the_end()


def _begin_at_the_end() -> None:
    """One look along the primary key for each journal, however many transitions there are."""
    connection = op.get_bind()
    latest = sa.text(
        "INSERT INTO wait_positions (journal_id, entry_ms, entry_number) SELECT journal_id, entry_ms, entry_number "
        "FROM transitions WHERE journal_id = :journal_id ORDER BY entry_ms DESC, entry_number DESC LIMIT 1"
    )
    for journal_id in connection.execute(sa.text("SELECT journal_id FROM journals")).scalars().all():
        connection.execute(latest, {"journal_id": journal_id})


def downgrade() -> None:
    for name in ("wait_positions", "wait_counts", "wait_sums"):
        op.drop_table(name)
    op.drop_column("gaps", "since_ms")

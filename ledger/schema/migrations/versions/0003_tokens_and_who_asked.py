"""Who may call the API, and who asked for a transition.

Written down as it was then: later releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table(
        "tokens",
        sa.Column("token_id", sa.Text(), nullable=False),
        sa.Column("secret_digest", sa.Text(), nullable=False),
        sa.Column("owner", sa.Text(), nullable=False),
        sa.Column("scopes", sa.Text(), nullable=False),
        sa.Column("max_band", sa.Integer(), nullable=False),
        sa.Column("gates", sa.Text(), nullable=True),
        sa.Column("created_ms", sa.BigInteger(), nullable=False),
        sa.Column("created_by", sa.Text(), nullable=False),
        sa.Column("expires_ms", sa.BigInteger(), nullable=True),
        sa.Column("revoked_ms", sa.BigInteger(), nullable=True),
        sa.Column("revoked_by", sa.Text(), nullable=True),
        sa.Column("used_ms", sa.BigInteger(), nullable=True),
        sa.PrimaryKeyConstraint("token_id", name=op.f("pk_tokens")),
        comment="Who may call the API. No secret is kept, only its SHA-256. gates: patterns, a line each; none: any.",
    )
    op.add_column("transitions", sa.Column("changed_by", sa.Text(), nullable=True))
    named = sa.text("changed_by IS NOT NULL")
    op.create_index(
        "ix_transitions_changed_by",
        "transitions",
        ["entry_ms", "entry_number"],
        sqlite_where=named,
        postgresql_where=named,
    )


def downgrade() -> None:
    op.drop_index("ix_transitions_changed_by", "transitions")
    with op.batch_alter_table("transitions") as batch_op:
        batch_op.drop_column("changed_by")
    op.drop_table("tokens")

"""PostgreSQL orders the ids of executions and the names of actions by their bytes in every table, as SQLite does.

Step 0005 did so in `executions` alone. PostgreSQL joins columns of two collations without an index, so each page of a
rebuild read the whole of both tables. Written down as it was then: later releases change it by further steps, never
here.
"""

from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

_COLUMNS = {
    "payloads": "execution_id",
    "results": "execution_id",
    "transitions": "execution_id",
    "holds": "execution_id",
    "action": "ref",
}


def upgrade() -> None:
    _order_texts("C")


def downgrade() -> None:
    _order_texts("default")


def _order_texts(collation: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, column in _COLUMNS.items():
        op.execute(f'ALTER TABLE {table} ALTER COLUMN {column} TYPE text COLLATE "{collation}"')

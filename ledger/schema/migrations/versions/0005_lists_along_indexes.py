"""Indexes in the order of the lists, one for each filter; PostgreSQL orders texts by their bytes, as SQLite does.

So the beginning of an id, a user or an action is a range of an index on both. Written down as it was then: later
releases change it by further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TEXTS = ("execution_id", "lane", "action", "user_id", "state")
_NEW = {
    "ix_executions_state": ["state", "accepted_ms", "execution_id"],
    "ix_executions_action": ["action", "accepted_ms", "execution_id"],
    "ix_executions_user": ["user_id", "accepted_ms", "execution_id"],
    "ix_executions_lane": ["lane", "accepted_ms", "execution_id"],
    "ix_executions_band": ["band", "accepted_ms", "execution_id"],
}
_OLD = {
    "ix_executions_state": ["state", "accepted_ms"],
    "ix_executions_action": ["action", "state", "accepted_ms"],
    "ix_executions_user": ["user_id", "accepted_ms"],
}


def upgrade() -> None:
    for name in _OLD:
        op.drop_index(name, "executions")
    _order_texts("C")
    for name, columns in _NEW.items():
        op.create_index(name, "executions", columns)
    pending = sa.text("state = 'PENDING'")
    op.create_index(
        "ix_executions_pending", "executions", ["action", "accepted_ms"], sqlite_where=pending, postgresql_where=pending
    )


def downgrade() -> None:
    for name in ("ix_executions_pending", *_NEW):
        op.drop_index(name, "executions")
    _order_texts("default")
    for name, columns in _OLD.items():
        op.create_index(name, "executions", columns)


def _order_texts(collation: str) -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    changed = ", ".join(f'ALTER COLUMN {name} TYPE text COLLATE "{collation}"' for name in _TEXTS)
    op.execute(f"ALTER TABLE executions {changed}")

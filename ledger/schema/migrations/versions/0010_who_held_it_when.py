"""Columns and indexes of `holds` by which those that overlap a moment are found, of a gate and of a lane's slots.

`magnitude`: how long a hold lasted, as a power of four of milliseconds; `lane`: in the row of the action's gate, the
lane whose slot was held. What is there already gets both. Written down as it was then: later releases change it by
further steps, never here.
"""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_INDEXES = {
    "ix_holds_magnitude": ["gate", "magnitude", "since_ms"],
    "ix_holds_lane": ["lane", "since_ms"],
    "ix_holds_lane_magnitude": ["lane", "magnitude", "since_ms"],
}


def upgrade() -> None:
    collation = "C" if op.get_bind().dialect.name == "postgresql" else None
    op.add_column("holds", sa.Column("magnitude", sa.Integer))
    op.add_column("holds", sa.Column("lane", sa.Text(collation=collation)))
    powers = " ".join(f"WHEN until_ms - since_ms < {4**each} THEN {each}" for each in range(20))
    op.execute(f"UPDATE holds SET magnitude = CASE {powers} ELSE 20 END WHERE until_ms IS NOT NULL")
    op.execute(
        "UPDATE holds SET lane = (SELECT executions.lane FROM executions "
        "WHERE executions.execution_id = holds.execution_id AND holds.gate = 'action:' || executions.action)"
    )
    for name, columns in _INDEXES.items():
        of_slots = None if columns[0] == "gate" else sa.text("lane IS NOT NULL")
        op.create_index(name, "holds", columns, sqlite_where=of_slots, postgresql_where=of_slots)


def downgrade() -> None:
    for name in _INDEXES:
        op.drop_index(name, "holds")
    for name in ("lane", "magnitude"):
        op.drop_column("holds", name)

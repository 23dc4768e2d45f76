"""What steps of the schema share, as it was when they were written. A later step that needs another has its own."""

from typing import Final

import sqlalchemy as sa
from alembic import op

BY_BYTES: Final = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""A text that is compared byte by byte."""
COUNTED: Final = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
"""A number that the database counts up."""


def index(name: str, table: str, columns: list[str], *, unique: bool = False, where: str | None = None) -> None:
    """Make an index of a table, or of those of its rows for which a condition holds."""
    rows = None if where is None else sa.text(where)
    op.create_index(name, table, columns, unique=unique, sqlite_where=rows, postgresql_where=rows)

"""``insert_or``: an INSERT that says what happens to a row that is there already, for both databases."""

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite


def insert_or(connection: Connection, table: Table) -> sqlite.Insert:
    """Begin such an INSERT for the database of a connection; go on with ``on_conflict_do_…``."""
    # The two constructs have the same methods, and no common class.
    return (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(table)  # type: ignore[return-value]

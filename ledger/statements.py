"""INSERTs that say what happens to a row that is there already, for both databases.

In the flow: whatever writes the ledger writes its rows here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import ARRAY, Column, ColumnElement, Connection, Table, any_, bindparam, func, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import DBAPIError


def insert_or(connection: Connection, table: Table) -> sqlite.Insert:
    """Begin such an INSERT for the database of a connection; go on with ``on_conflict_do_…``."""
    # The two constructs have the same methods, and no common class.
    return (postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert)(table)  # type: ignore[return-value]


def among(connection: Connection, column: Column[str], values: Sequence[str]) -> ColumnElement[bool]:
    """Say that a column has one of some values: for PostgreSQL by one parameter, not one each."""
    if connection.dialect.name == "postgresql":
        return column == any_(bindparam(column.name, list(values), type_=ARRAY(column.type)))
    return column.in_(values)


def put(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    keys: Sequence[str] = (),
    added: Sequence[str] = (),
) -> None:
    """Write rows, each with the same columns, in place of those that are there.

    Args:
        connection: Of a transaction that writes.
        table: The table.
        rows: The rows; no two have the same keys.
        keys: The columns by which a row is known; none: all rows are new.
        added: The columns whose values are added to what is there.
    """
    if not rows:
        return
    names = list(rows[0])
    is_postgresql = connection.dialect.name == "postgresql"
    if is_postgresql and not keys:
        _copy(connection, table, names, rows)
        return
    statement = insert_or(connection, table)
    values: Any = rows
    if is_postgresql:
        # One statement with a list for each column: a row a message would take twice as long.
        lists = [bindparam(name, type_=ARRAY(table.c[name].type)) for name in names]
        given = func.unnest(*lists).table_valued(*names, name="given").render_derived()
        statement = statement.from_select(names, select(*(given.c[name] for name in names)))
        values = {name: [row[name] for row in rows] for name in names}
    if keys:
        replaced = {
            name: table.c[name] + statement.excluded[name] if name in added else statement.excluded[name]
            for name in names
            if name not in keys
        }
        statement = statement.on_conflict_do_update(index_elements=list(keys), set_=replaced)
    connection.execute(statement, values)


def _copy(connection: Connection, table: Table, names: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Append rows by PostgreSQL's COPY, which takes twice as many a second as an INSERT, and knows no conflicts."""
    dialect = connection.dialect
    driver: Any = connection.connection.driver_connection
    quoted = dialect.identifier_preparer.quote
    statement = f"COPY {quoted(table.name)} ({', '.join(map(quoted, names))}) FROM STDIN"
    errors: Any = dialect.loaded_dbapi
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as into:
            for row in rows:
                into.write_row([row[name] for name in names])
    except errors.Error as error:
        # SQLAlchemy does not see this statement, so it is said here what it would say.
        raise DBAPIError.instance(statement, None, error, errors.Error, dialect=dialect) from error

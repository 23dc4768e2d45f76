"""What the tests ask of a ledger, in plain SQL, and how they let a consumer catch up."""

from typing import Any

from sqlalchemy import text

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database


class Reading:
    """Plain queries of one ledger."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def rows(self, query: str, **values: object) -> list[dict[str, Any]]:
        """The rows that a query gives."""
        with self._database.reading() as connection:
            return [dict(row) for row in connection.execute(text(query), values).mappings()]

    def change(self, statement: str) -> None:
        """Change rows by hand."""
        with self._database.writing() as connection:
            connection.execute(text(statement))

    def one(self, query: str, **values: object) -> Any:
        """The one value of the one row that a query gives."""
        (row,) = self.rows(query, **values)
        (value,) = row.values()
        return value


def catch_up(consumer: Consumer) -> int:
    """Let a consumer read all there is; how many entries that were."""
    entries = 0
    while read := consumer.step():
        entries += read
    return entries

"""Queues of items as they are usually written: a SELECT and then an UPDATE, any status from anybody, no lease."""

import sqlite3
from pathlib import Path


class NaiveItems:
    """Items in SQLite."""

    def __init__(self, file: Path) -> None:
        self._database = sqlite3.connect(file)
        self._database.execute(
            "CREATE TABLE items (id TEXT PRIMARY KEY, reference TEXT, status TEXT DEFAULT 'NEW', "
            "retries INT DEFAULT 0, priority INT, created_at INT, locked_at INT, updated_at INT)"
        )

    def add(self, item_id: str, *, reference: str = "", priority: int = 0, at: int = 0) -> None:
        self._database.execute(
            "INSERT INTO items (id, reference, priority, created_at) VALUES (?, ?, ?, ?)",
            (item_id, reference, priority, at),
        )

    def has(self, reference: str) -> bool:
        """Asked before an item is added: uniqueness by the application."""
        return bool(self._database.execute("SELECT 1 FROM items WHERE reference = ?", (reference,)).fetchall())

    def look(self) -> str | None:
        """The first half of a claim."""
        found = self._database.execute(
            "SELECT id FROM items WHERE status = 'NEW' ORDER BY priority DESC, created_at LIMIT 1"
        ).fetchone()
        return None if found is None else found[0]

    def mark(self, item_id: str) -> None:
        """The second half."""
        self.update(item_id, "IN_PROGRESS")

    def next(self) -> str | None:
        found = self.look()
        if found is not None:
            self.mark(found)
        return found

    def by_trigger(self) -> list[str]:
        """The other path, which orders by the id."""
        rows = self._database.execute("SELECT id FROM items WHERE status = 'NEW' ORDER BY id").fetchall()
        return [row[0] for row in rows]

    def update(self, item_id: str, status: str, at: int = 0) -> None:
        self._database.execute("UPDATE items SET status = ?, updated_at = ? WHERE id = ?", (status, at, item_id))

    def status(self, item_id: str) -> str:
        return self._database.execute("SELECT status FROM items WHERE id = ?", (item_id,)).fetchone()[0]

    def average(self) -> float:
        """From when they were added."""
        found = self._database.execute("SELECT avg(updated_at - created_at) FROM items WHERE status = 'DONE'")
        return found.fetchone()[0]

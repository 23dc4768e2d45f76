"""Seed 3's manager between a table of tasks and Redis, with its defects: what the engine is compared with.

Tasks are rows of SQLite, which like PostgreSQL locks what a transaction has read to change it; queues are lists in
Redis. Each process has a manager of its own on the same file. `clock` is the application's clock, in seconds;
`between` stands for what others do between two of the steps.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import redis

BATCH: Final = 100
STUCK_SECONDS: Final = 300
MAX_RETRIES: Final = 3
LEADER: Final = "taskflow:leader"


def _nothing() -> None:
    pass


class TaskManager:
    """One process's."""

    def __init__(self, client: redis.Redis, path: Path) -> None:
        self.client: Any = client
        self.clock: Callable[[], float] = time.time
        self.fails: Callable[[int], bool] = lambda _: False
        """Of which tasks the push fails."""
        self.is_leader = False
        self.rows = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
        self.rows.execute(
            "CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, status TEXT, scheduled_at REAL, "
            "updated_at REAL, retry_count INTEGER, priority TEXT)"
        )

    def submit(self, task_id: int, *, due_in_seconds: float = 0, priority: str | None = None) -> None:
        """The API's part."""
        values = (task_id, self.clock() + due_in_seconds, priority)
        self.rows.execute("INSERT INTO tasks VALUES (?, 'PENDING', ?, 0, 0, ?)", values)

    def elect(self) -> bool:
        """SET NX; the flag is looked at once in each loop."""
        self.is_leader = bool(self.client.set(LEADER, "1", nx=True, ex=10))
        return self.is_leader

    def resign(self) -> None:
        """At its end."""
        self.client.delete(LEADER)

    def tick(
        self, *, before_push: Callable[[], object] = _nothing, before_commit: Callable[[], object] = _nothing
    ) -> None:
        """`scheduler_loop`, once: locks, pushes, marks, commits."""
        self.rows.execute("BEGIN IMMEDIATE")
        try:
            due = self.rows.execute(
                "SELECT id, priority FROM tasks WHERE status = 'PENDING' AND scheduled_at <= ? "
                "ORDER BY scheduled_at LIMIT ?",
                (self.clock(), BATCH),
            ).fetchall()
            before_push()
            queued = [task_id for task_id, priority in due if self.push(task_id, priority or "low")]
            before_commit()
            self.rows.executemany("UPDATE tasks SET status = 'QUEUED' WHERE id = ?", [(each,) for each in queued])
            self.rows.execute("COMMIT")
        except BaseException:
            self.rows.execute("ROLLBACK")
            raise

    def push(self, task_id: int, priority: str) -> bool:
        """`push_task`."""
        if self.fails(task_id):
            return False
        self.client.rpush(f"queue:{priority}", task_id)
        return True

    def recover(self, *, between: Callable[[], object] = _nothing) -> None:
        """The janitor, once."""
        stuck = self.rows.execute(
            "SELECT id, retry_count FROM tasks WHERE status = 'IN_PROGRESS' AND updated_at < ?",
            (self.clock() - STUCK_SECONDS,),
        ).fetchall()
        between()
        for task_id, retries in stuck:
            status = "PENDING" if retries < MAX_RETRIES else "FAILED"
            self.rows.execute(
                "UPDATE tasks SET status = ?, retry_count = retry_count + 1 WHERE id = ?", (status, task_id)
            )
            if status == "PENDING":
                self.push(task_id, "low")

    def pop(self) -> int | None:
        """A worker takes one, those of high priority first."""
        popped = self.client.lpop("queue:high") or self.client.lpop("queue:low")
        return None if popped is None else int(popped)

    def begin(self, task_id: int) -> str:
        """It marks its row; returns what that said before."""
        before = self.status(task_id)
        self.rows.execute(
            "UPDATE tasks SET status = 'IN_PROGRESS', updated_at = ? WHERE id = ?", (self.clock(), task_id)
        )
        return before

    def finish(self, task_id: int) -> None:
        """And marks it again."""
        self.rows.execute("UPDATE tasks SET status = 'DONE' WHERE id = ?", (task_id,))

    def status(self, task_id: int) -> str:
        """What its row says."""
        return str(self.rows.execute("SELECT status FROM tasks WHERE id = ?", (task_id,)).fetchone()[0])

    def queued(self) -> int:
        """How many entries wait in Redis."""
        return int(self.client.llen("queue:high") + self.client.llen("queue:low"))

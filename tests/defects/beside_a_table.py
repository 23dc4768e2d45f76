"""What the tests of a scheduler beside a table do with the simple one and with ours."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Grant
from defects.task_table import TaskManager


def due(queue: TurnedQueue, seconds: float = 1) -> datetime:
    return datetime.fromtimestamp(queue.clock.now_ms / 1000 + seconds, UTC)


def next_one(queue: Any) -> str | None:
    started = queue.try_schedule()
    return None if started is None else started[0]


def begin(queue: TurnedQueue) -> Grant:
    """A worker takes the next one, under a lease that it has to renew."""
    (grant,) = queue.transitions.admit(("executions",), 1, lease_ms=30_000, consumer=True).grants
    return grant


def other_process(manager: TaskManager) -> TaskManager:
    (_, _, path), *_ = manager.rows.execute("PRAGMA database_list").fetchall()
    other = TaskManager(manager.client, Path(path))
    other.clock = manager.clock
    return other

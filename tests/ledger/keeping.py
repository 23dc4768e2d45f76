"""What the tests of retention do: send and end executions, and delete until nothing is left to delete."""

from typing import Final

from ledger_reading import Reading

from bandmaster.ledger.book import Book
from bandmaster.ledger.retention import Kept, Retention
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

DAY_MS: Final = 24 * 3600 * 1000


class Later:
    """A clock that goes on by an hour with each look, so that each step of the retention is due."""

    def __init__(self) -> None:
        self._seconds = 0.0

    def __call__(self) -> float:
        self._seconds += 3600
        return self._seconds


def forget(book: Book, kept: Kept, now_ms: int) -> int:
    """Delete until nothing is left to delete; how many."""
    deleting = Retention(book, kept, Later())
    deleted = 0
    while page := deleting.step(now_ms):
        deleted += page
    return deleted


def send(queue: ExecutionQueueService, name: str, **fields: object) -> None:
    queue.enqueue(ExecutionRequestedEvent.from_any({"execution_id": name, "command": ["true"]} | fields))


def end(queue: ExecutionQueueService, name: str) -> None:
    (grant,) = queue.transitions.admit(("executions",), 1).grants
    assert grant.execution_id == name
    queue.transitions.release(name, grant.attempt, State.COMPLETED, result=b'{"exit_code": 0}')


def counts(reading: Reading) -> dict[str, int]:
    tables = ("executions", "transitions", "holds", "payloads", "results")
    return {table: reading.one(f"SELECT count(*) FROM {table}") for table in tables}

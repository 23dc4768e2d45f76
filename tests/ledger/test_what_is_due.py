"""What is due is found in the ledger along an index, however much else it has; nothing is started from there."""

from datetime import UTC, datetime
from typing import Any, Final

import pytest
from ledger_reading import Reading, catch_up
from sqlalchemy import insert, text

from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.executions import Execution
from bandmaster.ledger.schema.tables import executions
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

DUE: Final = """
    SELECT execution_id FROM executions
    WHERE state = 'SCHEDULED' AND due_ms <= :now_ms
    ORDER BY due_ms, execution_id
    LIMIT 100
"""
"""As docs/ledger.md has it."""
NOW_MS: Final = 1_000_000
ENDED, LATER, OVERDUE = 30_000, 10_000, 1_000
WHOLE: Final[dict[str, Any]] = {"lane": "executions", "action": "pod", "band": 2, "attempt": 1}


def rows() -> list[dict[str, Any]]:
    made = [Execution(f"ended-{n}", state="COMPLETED", due_ms=n, **WHOLE) for n in range(ENDED)]
    made += [Execution(f"later-{n}", state="SCHEDULED", due_ms=NOW_MS + 1 + n, **WHOLE) for n in range(LATER)]
    made += [Execution(f"due-{n:04}", state="SCHEDULED", due_ms=NOW_MS - n, **WHOLE) for n in range(OVERDUE)]
    return [{name: getattr(each, name) for name in Execution.__slots__} for each in made]


@pytest.fixture
def filled(database: Database) -> Database:
    with database.writing() as connection:
        connection.execute(insert(executions), rows())
    with database.writing() as connection:
        connection.execute(text("ANALYZE"))
    return database


def test_what_is_due_is_found_along_its_index(filled: Database) -> None:
    explains = "EXPLAIN QUERY PLAN " if filled.is_sqlite else "EXPLAIN ANALYZE "
    with filled.reading() as connection:
        found = connection.execute(text(DUE), {"now_ms": NOW_MS}).scalars().all()
        plan = "\n".join(str(each[-1]) for each in connection.execute(text(explains + DUE), {"now_ms": NOW_MS}))
    assert found == [f"due-{number:04}" for number in reversed(range(OVERDUE - 100, OVERDUE))]
    assert "ix_executions_due" in plan
    assert "Seq Scan" not in plan
    assert "SCAN" not in plan
    assert "Sort" not in plan, "the index has the order"
    assert "TEMP B-TREE" not in plan


def test_it_says_what_redis_has(queue: ExecutionQueueService, consumer: Consumer, reading: Reading) -> None:
    for name, at in (("first", "2096-01-01"), ("second", "2096-01-02"), ("other", "2097-01-01")):
        scheduled = f"{at}T00:00:00+00:00"
        event = ExecutionRequestedEvent.from_any({"execution_id": name, "command": ["true"], "scheduled_at": scheduled})
        queue.enqueue(event)
    queue.enqueue(ExecutionRequestedEvent(execution_id="waits", command=("true",)))
    catch_up(consumer)
    found = reading.rows(DUE, now_ms=int(datetime(2096, 1, 5, tzinfo=UTC).timestamp() * 1000))
    assert [row["execution_id"] for row in found] == queue.views.scheduled(10)[:2] == ["first", "second"]

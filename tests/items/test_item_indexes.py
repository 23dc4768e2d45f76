"""What is asked of items and firings goes along an index, and is not sorted: the plan of each database says so."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from databases import ALL_IN_CHECK
from sqlalchemy import Connection, event, insert, text
from work_items import make

from bandmaster.items import sending
from bandmaster.items.firing import has_come
from bandmaster.items.listing import Place, Sought
from bandmaster.items.opened import Items
from bandmaster.items.started import latest_started
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import firings, queue_items

pytestmark = pytest.mark.parametrize("database_kind", ALL_IN_CHECK, indirect=True)

ROWS = 4_000
QUEUES = 16
ASKED: dict[str, Sought] = {
    "ix_queue_items_queue": Sought(queue_id=1),
    "ix_queue_items_robot": Sought(robot_id="robot-7"),
}


def fill(items: Items, database: Database) -> None:
    """Queues with many items, some of them deleted, and many firings, of which few wait."""
    for number in range(QUEUES):
        make(items, f"queue-{number}")
    columns = {"deadline_ms": 2**53 - 1, "rank": 0, "retries": 0, "abandoned": 0, "fence": 0, "revision": 1}
    with database.writing() as connection:
        rows = [
            {
                **columns,
                "item_id": f"{number:08}",
                "queue_id": 1 + number % QUEUES,
                "status": Status.DELETED if number % 5 == 1 else Status.DONE,
                "locked_by_robot_id": f"robot-{number % 8}",
                "created_ms": number,
                "created_by": "a test",
                "updated_ms": number,
                "ended_ms": number,
            }
            for number in range(ROWS)
        ]
        connection.execute(insert(queue_items), rows)
        sent = [
            {
                "execution_id": f"{number:08}",
                "trigger_id": number,
                "key": "k",
                "created_ms": number,
                "again_ms": 0,
                "sent_ms": None if number % 1_000 == 0 else 1,
            }
            for number in range(ROWS)
        ]
        connection.execute(insert(firings), sent)
        connection.exec_driver_sql("ANALYZE")


def plan_of(connection: Connection, ask: Callable[[], object]) -> str:
    """How the database does the last query of something."""
    asked = list[tuple[str, Any]]()

    def note(_: object, __: object, statement: str, parameters: Any, *___: object) -> None:
        asked.append((statement, parameters))

    event.listen(connection.engine, "before_cursor_execute", note)
    try:
        ask()
    finally:
        event.remove(connection.engine, "before_cursor_execute", note)
    statement, parameters = asked[-1]
    how = "EXPLAIN " if connection.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN "
    return "\n".join(str(tuple(row)) for row in connection.exec_driver_sql(how + statement, parameters))


def is_sorted(plan: str) -> bool:
    return "TEMP B-TREE" in plan or "Sort" in plan


@pytest.mark.parametrize("index", list(ASKED))
def test_lists_of_items_go_along_their_index(items: Items, database: Database, index: str) -> None:
    fill(items, database)
    with database.reading() as connection:
        for before in (None, Place(ROWS, "x")):
            plan = plan_of(connection, lambda: items.listing.page(ASKED[index], 20, before=before))  # noqa: B023
            assert index in plan, plan
            assert not is_sorted(plan), plan


@pytest.mark.parametrize("only_new", [False, True])
def test_what_is_to_be_sent_is_found_along_its_index(only_new: bool, items: Items, database: Database) -> None:
    fill(items, database)
    with database.reading() as connection:
        plan = plan_of(connection, lambda: sending._unsent(connection, only_new))  # type: ignore[reportPrivateUsage]
        assert "ix_firings_unsent" in plan
        assert not is_sorted(plan)


def test_what_triggers_started_last_is_found_along_its_index(items: Items, database: Database) -> None:
    fill(items, database)
    with database.reading() as connection:
        plan = plan_of(connection, lambda: latest_started(connection, 1))
        assert "ix_firings_latest" in plan, plan


def test_whether_an_item_has_come_is_asked_of_indexes(items: Items, database: Database) -> None:
    fill(items, database)
    with database.writing() as connection:
        # With a trigger for each queue.
        connection.execute(
            text(
                "INSERT INTO triggers (external_id, name, type, queue_id, batch_size, polling_interval, enabled, "
                "max_jobs, tz, command, action, priority, timeout_seconds, sequence, next_fire_ms, failures, revision, "
                "created_ms, updated_ms) SELECT name, name, 'QUEUE', queue_id, 1, 1, TRUE, 1, 'UTC', '[]', 'pod', "
                "'LOW', 1, 0, 99, 0, 1, 1, 1 FROM item_queues"
            )
        )
    with database.reading() as connection:
        plan = plan_of(connection, lambda: connection.execute(has_come(5)).all())
    for index in ("ix_queue_items_(next|status)", "ix_queue_items_due", "ix_queue_items_leases"):
        assert re.search(index, plan)

"""What the API bounds is bounded for whoever else asks, and what a database refuses is told as what it is."""

from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import insert
from trigger_work import Work
from work_items import SETTINGS, add, make, rows, take

from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import RowsRefused, RowsTaken
from bandmaster.ledger.schema.tables import action, item_queues
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.priority import Priority

OF_QUEUES: dict[str, tuple[Any, ...]] = {
    "max_retries": (-1, 1_001, True, None),
    "lease_seconds": (0, 86_401, 1.5),
    "retry_seconds": (-1, 3_601, "5"),
    "description": ("x" * 1_001, "a\0b", "\ud800"),
    "is_active": (None, 1),
    "name": ("two words", "", "1"),
}
OF_ITEMS: dict[str, tuple[Any, ...]] = {
    "priority": (2**31, -(2**31)),
    "reference": ("", "x" * 257, "a\0"),
    "deadline_ms": (-1, 2**53),
    "available_ms": (-1, 2**53),
}
OF_TRIGGERS: dict[str, tuple[Any, ...]] = {
    "batch_size": (0, 101),
    "polling_interval": (0, 86_401),
    "max_jobs": (0, 10_001),
    "timeout_seconds": (0, 604_801),
    "cron": ("* " * 101,),
    "tz": ("x" * 101, "Nowhere/X"),
    "priority": ("SOON", 7),
    "enabled": (None,),
    "name": ("two words", "7"),
}
OF_OUTCOMES: dict[str, tuple[Any, ...]] = {
    "error_message": ("x" * 4_001,),
    "progress": ("x" * 501, "\0"),
    "lease_seconds": (0, 86_401),
}


def each_of(wrong: dict[str, tuple[Any, ...]]) -> list[tuple[str, Any]]:
    return [(field, value) for field, values in wrong.items() for value in values]


def refuses(field: str, call: Callable[..., object], *given: Any, **named: Any) -> None:
    with pytest.raises(InvalidRequest) as refused:
        call(*given, **named)
    assert refused.value.field == field


def test_values_of_queues_are_bounded(items: Items) -> None:
    make(items)
    for field, value in each_of(OF_QUEUES):
        wanted = "queue" if field == "name" else field
        refuses(wanted, items.queues.create, **({"name": "b", "by": "a test"} | SETTINGS | {field: value}))
        refuses(wanted, items.queues.change, "invoices", {field: value}, by="a test", revision=None)
    assert [(each.name, each.revision) for each in items.queues.all()] == [("invoices", 1)]


def test_values_of_items_are_bounded(items: Items, database: Database) -> None:
    queue = make(items)
    for field, value in each_of(OF_ITEMS):
        refuses(field, add, items, queue, **{field: value})
    assert rows(database) == []
    item_id = add(items, queue).item_id
    for field, value in each_of(OF_ITEMS):
        refuses(field, items.editing.edit, item_id, {field: value}, by="a test", revision=None)
    for field, value in {"count": 0, "lease_seconds": 0, "robot_id": "two words"}.items():
        refuses(field, take, items, **({"robot_id": "r"} | {field: value}))
    refuses("count", take, items, count=101)
    (item,) = take(items)
    for field, value in each_of(OF_OUTCOMES):
        said = Said(Status.IN_PROGRESS, **{field: value})
        refuses(field, items.outcome.say, item_id, said, robot_id="robot", fence=item.fence)
    assert [row["revision"] for row in rows(database)] == [2]


def test_values_of_triggers_are_bounded(work: Work) -> None:
    work.trigger("tick", cron="0 0 1 1 *")
    create, change = work.items.triggers.create, work.items.triggers.change
    given: dict[str, Any] = {
        "type": TriggerType.TIME,
        "command": ("true",),
        "cron": "0 0 1 1 *",
        "by": "a test",
        "name": "b",
    }
    for field, value in each_of(OF_TRIGGERS):
        wanted = "trigger" if field == "name" else field
        refuses(wanted, create, **(given | {field: value}))
        refuses(wanted, change, "tick", {field: value}, by="a test", revision=None)
    assert [(each.name, each.revision) for each in work.items.triggers.all()] == [("tick", 1)]
    assert create(**given, priority=Priority.HIGH).priority is Priority.HIGH


def test_a_name_is_told_as_taken_if_it_is_only(work: Work) -> None:
    nobody: Any = None
    queue = make(work.items)
    item_id = add(work.items, queue, reference="17").item_id
    work.trigger()
    for call in (
        lambda: work.items.queues.create("b", by=nobody, **SETTINGS),
        lambda: work.items.queues.change("invoices", {"name": "c"}, by=nobody, revision=None),
        lambda: work.items.editing.edit(item_id, {"reference": "18"}, by=nobody, revision=None),
        lambda: work.items.triggers.change("book", {"name": "c"}, by=nobody, revision=None),
        lambda: work.items.triggers.create(
            "b", type=TriggerType.QUEUE, command=("true",), queue_id=queue.queue_id, by=nobody
        ),
    ):
        with pytest.raises(RowsRefused) as refused:
            call()
        assert not isinstance(refused.value, RowsTaken)


def test_what_stands_there_already_is_told_apart_from_what_cannot_stand(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(insert(action).values(ref="a"))
    with pytest.raises(RowsTaken), database.writing() as connection:
        connection.execute(insert(action).values(ref="a"))
    with pytest.raises(RowsRefused) as refused, database.writing() as connection:
        connection.execute(insert(item_queues).values(name="a"))
    assert not isinstance(refused.value, RowsTaken)

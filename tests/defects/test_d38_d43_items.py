"""D38 to D43: items that are looked for and then marked are handed out twice, lost and settled by anybody."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from bandmaster.items.claiming import Claim
from bandmaster.items.errors import DuplicateReference, LeaseLost, QueueHasItems
from bandmaster.items.model import Item, Queue
from bandmaster.items.opened import Items, open_items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.items.statistics import figures_of
from bandmaster.ledger.database import Database
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import queue_items
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.model.priority import Priority
from defects.contrast import contrast
from defects.naive_items import NaiveItems

LATER_MS = 4_000_000_000_000


class Ours:
    """One queue."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.items: Items = open_items(Asking(database, queue="exec_queue"))
        self.queue: Queue = self.items.queues.create(
            "invoices",
            by="a test",
            description=None,
            max_retries=1,
            enforce_unique_reference=True,
            is_active=True,
            lease_seconds=300,
            retry_seconds=0,
        )

    def add(self, **fields: Any) -> Item:
        return self.items.adding.add(self.queue, by="a test", **fields)

    def claim(self, robot_id: str = "robot", *, key: str | None = None) -> Item | None:
        return next(iter(self.items.claiming.claim(Claim("invoices", robot_id, key=key))), None)

    def change(self, **columns: Any) -> None:
        with self.database.writing() as connection:
            connection.execute(update(queue_items).values(columns))


@pytest.fixture
def ours(tmp_path: Path) -> Iterator[Ours]:
    database = Database(f"sqlite:///{tmp_path / 'ledger.sqlite3'}")
    upgrade(database)
    yield Ours(database)
    database.close()


@pytest.fixture
def simple(tmp_path: Path) -> NaiveItems:
    return NaiveItems(tmp_path / "simple.sqlite3")


def test_d38_two_robots_that_ask_at_once_get_two_items(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            for _ in range(2):
                ours.add()
            found = [ours.claim("a"), ours.claim("b")]
            return len({each.item_id for each in found if each}) == 2
        for name in ("1", "2"):
            queue.add(name)
        found = [queue.look(), queue.look()]  # both look before one of them marks
        for each in found:
            queue.mark(each)
        return len(set(found)) == 2

    contrast(holds, simple=simple, ours=ours)


def test_d38_what_a_dead_robot_held_comes_back_and_its_failures_count(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is not ours:
            queue.add("1")
            return bool(queue.next()) and queue.next() == "1"  # nothing says that the first one is dead
        ours.add()
        dead = ours.claim("dead")
        ours.change(locked_until_ms=1)
        again = ours.claim("next")
        assert dead is not None
        assert again is not None
        said = ours.items.outcome.say(again.item_id, Said(Status.FAILED), robot_id="next", fence=again.fence)
        return (again.item_id, again.abandoned, said.retries) == (dead.item_id, 1, 1)

    contrast(holds, simple=simple, ours=ours)


def test_d39_a_lost_answer_loses_no_item(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            added = ours.add()
            answers = [ours.claim(key="k"), ours.claim(key="k")]  # the first one is lost
            return [each.item_id for each in answers if each] == [added.item_id] * 2
        queue.add("1")
        queue.next()
        return queue.next() == "1"

    contrast(holds, simple=simple, ours=ours)


def test_d40_there_is_one_order_whoever_claims(simple: NaiveItems, ours: Ours) -> None:
    given = (("c", 0, None), ("b", 9, None), ("a", 0, None), ("d", 0, LATER_MS))

    def holds(queue: Any) -> bool:
        if queue is ours:
            for name, priority, deadline_ms in given:
                ours.add(reference=name, priority=priority, deadline_ms=deadline_ms)
            found = [ours.claim(robot_id) for robot_id in ("robot", "trigger", "robot", "trigger")]
            return [each.reference for each in found if each] == ["b", "d", "c", "a"]
        for at, (name, priority, _) in enumerate(given):
            queue.add(name, priority=priority, at=at)
        return queue.by_trigger()[0] == queue.next()

    contrast(holds, simple=simple, ours=ours)


def test_d41_only_the_holder_says_what_came_of_it(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is not ours:
            queue.add("1")
            queue.next()
            queue.update("1", "whatever")
            return queue.status("1") == "IN_PROGRESS"
        ours.add()
        item = ours.claim("holder")
        assert item is not None
        with pytest.raises(LeaseLost):
            ours.items.outcome.say(item.item_id, Said(Status.DONE), robot_id="another", fence=item.fence)
        return ours.items.listing.one(item.item_id).status is Status.IN_PROGRESS

    contrast(holds, simple=simple, ours=ours)


def test_d42_a_reference_is_unique_by_the_database(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.add(reference="17")
            with pytest.raises(DuplicateReference):
                ours.add(reference="17")
            return True
        asked = [queue.has("17"), queue.has("17")]  # both ask before one of them adds
        for name, is_there in zip("ab", asked, strict=True):
            if not is_there:
                queue.add(name, reference="17")
        return len(queue.by_trigger()) == 1

    contrast(holds, simple=simple, ours=ours)


def test_d42_an_average_is_from_the_claim_and_not_from_the_making(simple: NaiveItems, ours: Ours) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.add()
            item = ours.claim()
            assert item is not None
            ours.items.outcome.say(item.item_id, Said(Status.DONE), robot_id="robot", fence=1)
            ours.change(created_ms=0, locked_at_ms=90_000, ended_ms=100_000)
            return figures_of(ours.items.store, ours.queue.queue_id).average_processing_seconds == 10
        queue.add("1", at=0)
        queue.next()  # at 90
        queue.update("1", "DONE", at=100)
        return queue.average() == 10

    contrast(holds, simple=simple, ours=ours)


def test_d42_a_queue_is_not_deleted_under_running_work(ours: Ours) -> None:
    ours.add()
    assert ours.claim() is not None
    with pytest.raises(QueueHasItems):
        ours.items.queues.delete("invoices", by="a test", force=False)


def test_d43_the_two_orders_of_priority_are_told_where_they_are_shown(ours: Ours) -> None:
    assert Priority.CRITICAL < Priority.NORMAL, "of bands, the smallest goes first"
    low, high = ours.add(priority=1), ours.add(priority=2)
    assert [each.item_id for each in (ours.claim(), ours.claim()) if each] == [high.item_id, low.item_id]
    table = (Path(__file__).parents[2] / "docs" / "queues-and-items.md").read_text()
    assert "| `priority` of an item | the larger first |" in table
    assert "| band of an execution | the smaller first |" in table

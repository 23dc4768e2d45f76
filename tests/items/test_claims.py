"""The order of claims, leases and fences, keys of claims, and what queues give and take."""

from typing import Any

import pytest
from work_items import add, end_lease, end_postponing, make, rows, take

from bandmaster.items.errors import (
    ClaimOver,
    DuplicateReference,
    ItemUnknown,
    KeyReused,
    LeaseLost,
    QueueHasItems,
    QueueInactive,
    QueueNameTaken,
    QueueUnknown,
)
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Failure, Status
from bandmaster.ledger.database import Database
from bandmaster.scheduler.model.errors import InvalidRequest

DAY_MS = 86_400_000
LATER_MS = 4_000_000_000_000


def test_larger_priority_then_deadline_then_acceptance(items: Items) -> None:
    queue = make(items)
    given = [
        ("late", 0, None),
        ("urgent", 10, None),
        ("due-later", 0, LATER_MS + DAY_MS),
        ("due-first", 0, LATER_MS),
        ("least", -5, LATER_MS),
        ("last-of-ten", 10, None),
        ("later", 0, None),
    ]
    for name, priority, deadline_ms in given:
        add(items, queue, payload=name, priority=priority, deadline_ms=deadline_ms)
    order = [take(items)[0].payload for _ in given]
    names = ["urgent", "last-of-ten", "due-first", "due-later", "late", "later", "least"]
    assert order == [f'"{name}"' for name in names]
    assert take(items) == []


def test_a_batch_is_as_long_as_it_was_asked_for(items: Items) -> None:
    queue = make(items)
    for number in range(5):
        add(items, queue, payload=number)
    assert [item.payload for item in take(items, count=3)] == ["0", "1", "2"]
    assert [item.payload for item in take(items, queue=queue.queue_id, count=3)] == ["3", "4"]  # type: ignore[arg-type]


def test_a_killed_robots_item_comes_back_and_its_late_outcome_is_refused(items: Items, database: Database) -> None:
    queue = make(items)
    add(items, queue, payload=1)
    (lost,) = take(items, "killed")
    assert take(items, "other") == []
    end_lease(database, lost.item_id)
    with pytest.raises(LeaseLost, match="your lease ended at"):
        items.outcome.say(lost.item_id, Said(Status.DONE), robot_id="killed", fence=lost.fence)
    (found,) = take(items, "other")
    assert (found.item_id, found.fence, found.abandoned, found.retries) == (lost.item_id, lost.fence + 1, 1, 0)
    with pytest.raises(LeaseLost, match="robot other has held it since"):
        items.outcome.say(lost.item_id, Said(Status.DONE), robot_id="killed", fence=lost.fence)
    with pytest.raises(LeaseLost, match="with the fence 2, and yours is 1"):
        items.outcome.say(lost.item_id, Said(Status.DONE), robot_id="other", fence=lost.fence)
    assert items.outcome.say(found.item_id, Said(Status.DONE), robot_id="other", fence=2).status is Status.DONE
    with pytest.raises(LeaseLost, match="it has been DONE since"):
        items.outcome.say(lost.item_id, Said(Status.FAILED), robot_id="killed", fence=lost.fence)


def test_the_third_lease_that_runs_out_is_the_last(items: Items, database: Database) -> None:
    queue = make(items)
    item_id = add(items, queue).item_id
    for _ in range(3):
        assert [item.item_id for item in take(items)] == [item_id]
        end_lease(database, item_id)
    assert take(items) == []
    (row,) = rows(database)
    assert (row["status"], row["abandoned"], row["retries"]) == (Status.ABANDONED, 3, 0)
    assert row["ended_ms"] is not None


def test_a_renewed_lease_is_longer_and_a_lost_one_is_not_renewed(items: Items, database: Database) -> None:
    queue = make(items)
    add(items, queue)
    (item,) = take(items, lease_seconds=1)
    renewed = Said(Status.IN_PROGRESS, progress="page 3", lease_seconds=600)
    longer = items.outcome.say(item.item_id, renewed, robot_id="robot", fence=1)
    assert (longer.locked_until_ms or 0) - (item.locked_until_ms or 0) > 500_000
    assert (longer.progress, longer.fence, longer.locked_at_ms) == ("page 3", 1, item.locked_at_ms)
    end_lease(database, item.item_id)
    with pytest.raises(LeaseLost):
        items.outcome.say(item.item_id, renewed, robot_id="robot", fence=1)


def test_the_same_key_gets_the_same_items_while_they_are_held(items: Items, database: Database) -> None:
    queue = make(items)
    for number in range(4):
        add(items, queue, payload=number)
    first = take(items, count=2, key="k")
    again = take(items, count=2, key="k")
    assert [(item.item_id, item.fence) for item in again] == [(item.item_id, item.fence) for item in first]
    assert [item.payload for item in take(items, key="other")] == ["2"]
    end_lease(database, *(item.item_id for item in first))
    with pytest.raises(ClaimOver):
        take(items, key="k")
    assert take(items, count=9, key="new")[0].fence == 2


def test_failures_of_the_application_come_back_and_those_of_business_do_not(items: Items, database: Database) -> None:
    queue = make(items, max_retries=2)
    add(items, queue, payload="application")
    for retries in (1, 2):
        (item,) = take(items)
        said = items.outcome.say(item.item_id, Said(Status.FAILED), robot_id="robot", fence=item.fence)
        assert (said.status, said.retries, said.failure) == (Status.NEW, retries, Failure.APPLICATION)
    (item,) = take(items)
    said = items.outcome.say(item.item_id, Said(Status.FAILED), robot_id="robot", fence=item.fence)
    assert (said.status, said.retries, said.failure) == (Status.FAILED, 2, Failure.APPLICATION)
    for result, message, told in (
        ({"failure_reason": "Business rule 7"}, None, None),
        ({"reason": "business"}, None, None),
        ({"type": "BusinessException"}, None, None),
        (None, "a business exception", None),
        (None, "whatever", Failure.BUSINESS),
    ):
        add(items, queue)
        (item,) = take(items)
        outcome = Said(Status.FAILED, result=result, error_message=message, failure=told)
        said = items.outcome.say(item.item_id, outcome, robot_id="robot", fence=item.fence)
        assert (said.status, said.retries, said.failure) == (Status.FAILED, 0, Failure.BUSINESS)


def test_a_retry_waits_twice_as_long_each_time(items: Items, database: Database) -> None:
    queue = make(items, retry_seconds=10)
    item_id = add(items, queue).item_id
    for pause_ms in (10_000, 20_000):
        (item,) = take(items)
        said = items.outcome.say(item_id, Said(Status.FAILED), robot_id="robot", fence=item.fence)
        assert (said.status, (said.available_ms or 0) - said.updated_ms) == (Status.POSTPONED, pause_ms)
        assert take(items) == []
        end_postponing(database, item_id)


def test_an_outcome_that_is_sent_again_was_taken_once(items: Items) -> None:
    queue = make(items, max_retries=5)
    add(items, queue)
    (item,) = take(items)
    failed = Said(Status.FAILED, error_message="no")
    first = items.outcome.say(item.item_id, failed, robot_id="robot", fence=item.fence)
    assert items.outcome.say(item.item_id, failed, robot_id="robot", fence=item.fence) == first
    assert first.retries == 1
    with pytest.raises(LeaseLost):
        items.outcome.say(item.item_id, Said(Status.DONE), robot_id="robot", fence=item.fence)


def test_a_postponed_item_is_new_when_it_is_due(items: Items, database: Database) -> None:
    queue = make(items)
    item = add(items, queue, available_ms=LATER_MS)
    assert item.status is Status.POSTPONED
    assert take(items) == []
    end_postponing(database, item.item_id)
    (taken,) = take(items)
    put_off = Said(Status.POSTPONED, available_ms=LATER_MS)
    assert items.outcome.say(taken.item_id, put_off, robot_id="robot", fence=1).status is Status.POSTPONED
    assert take(items) == []
    end_postponing(database, item.item_id)
    assert items.listing.one(item.item_id).status is Status.NEW


def test_a_reference_is_there_once_where_the_queue_wants_it(items: Items) -> None:
    strict = make(items, enforce_unique_reference=True)
    lax = make(items, "lax")
    first = add(items, strict, reference="17")
    with pytest.raises(DuplicateReference, match=first.item_id):
        add(items, strict, reference="17")
    add(items, strict, reference=None)
    add(items, strict, reference=None)
    for _ in range(2):
        add(items, lax, reference="17")
    # What is deleted makes room.
    items.editing.delete(first.item_id, by="a test", revision=None)
    again = add(items, strict, reference="17")
    with pytest.raises(DuplicateReference):
        items.editing.edit(add(items, strict).item_id, {"reference": "17"}, by="a test", revision=None)
    with pytest.raises(QueueHasItems):
        items.queues.change("lax", {"enforce_unique_reference": True}, by="a test", revision=None)
    assert again.item_id != first.item_id


def test_an_add_under_the_same_key_is_one_item(items: Items) -> None:
    queue = make(items)
    first = add(items, queue, payload=1, key="k")
    assert add(items, queue, payload=1, key="k") == first
    with pytest.raises(KeyReused):
        add(items, queue, payload=2, key="k")
    assert len(take(items, count=9)) == 1


@pytest.mark.parametrize(
    "another", [{"priority": 9}, {"deadline_ms": LATER_MS + DAY_MS}, {"available_ms": LATER_MS + 1}, {"reference": "r"}]
)
def test_a_key_that_comes_with_something_else_is_refused(items: Items, another: dict[str, Any]) -> None:
    queue = make(items)
    fields: dict[str, Any] = {"payload": 1, "priority": 1, "deadline_ms": LATER_MS, "available_ms": LATER_MS}
    first = add(items, queue, key="k", **fields)
    with pytest.raises(KeyReused):
        add(items, queue, key="k", **(fields | another))
    assert add(items, queue, key="k", **fields) == first


def test_an_add_that_comes_again_finds_its_item_whatever_became_of_it(items: Items, database: Database) -> None:
    queue = make(items)
    first = add(items, queue, priority=1, available_ms=LATER_MS, key="k")
    items.editing.edit(first.item_id, {"priority": 9}, by="a test", revision=None)
    end_postponing(database, first.item_id)
    assert take(items)[0].item_id == first.item_id
    again = add(items, queue, priority=1, available_ms=LATER_MS, key="k")
    assert (again.item_id, again.status, again.priority) == (first.item_id, Status.IN_PROGRESS, 9)
    due = add(items, queue, available_ms=1, key="due")
    assert add(items, queue, available_ms=1, key="due") == due


def test_an_inactive_queue_takes_and_gives_nothing(items: Items) -> None:
    queue = make(items)
    add(items, queue)
    items.queues.change("invoices", {"is_active": False}, by="a test", revision=None)
    with pytest.raises(QueueInactive):
        take(items)
    with pytest.raises(QueueInactive):
        add(items, queue)
    items.queues.change("invoices", {"is_active": True}, by="a test", revision=None)
    assert len(take(items)) == 1


def test_a_queue_with_items_is_deleted_when_it_is_said_only(items: Items, database: Database) -> None:
    queue = make(items)
    for _ in range(3):
        add(items, queue)
    with pytest.raises(QueueHasItems):
        items.queues.delete("invoices", by="a test", force=False)
    assert len(take(items)) == 1
    assert items.queues.delete("invoices", by="a test", force=True) == 3
    assert rows(database) == []
    with pytest.raises(QueueUnknown):
        add(items, queue)
    # The id of a queue that is gone is no other queue's.
    assert make(items).queue_id > queue.queue_id
    with pytest.raises(QueueNameTaken):
        make(items)


def test_a_robot_settles_nothing_of_queues_that_are_not_its_own(items: Items) -> None:
    queue = make(items)
    add(items, queue)
    (item,) = take(items)
    with pytest.raises(ItemUnknown):
        items.outcome.say(item.item_id, Said(Status.DONE), robot_id="robot", fence=1, queues=("others",))


def test_a_robot_says_only_what_fits_together(items: Items) -> None:
    queue = make(items)
    add(items, queue)
    (item,) = take(items)
    for said in (
        Said(Status.DELETED),
        Said(Status.ABANDONED),
        Said(Status.DONE, failure=Failure.BUSINESS),
        Said(Status.POSTPONED),
        Said(Status.DONE, available_ms=LATER_MS),
        Said(Status.DONE, result="x" * 60_000),
    ):
        with pytest.raises(InvalidRequest):
            items.outcome.say(item.item_id, said, robot_id="robot", fence=1)
    assert items.listing.one(item.item_id).status is Status.IN_PROGRESS

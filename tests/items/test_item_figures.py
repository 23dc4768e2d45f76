"""The figures of a queue, counted from its items."""

from sqlalchemy import update
from work_items import add, make, take

from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Failure, Status
from bandmaster.items.statistics import HOUR_MS, figures_of
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import queue_items


def test_ends_of_the_last_hour_are_counted_whatever_they_are(items: Items, database: Database) -> None:
    queue, other = make(items), make(items, "others")
    for _ in range(4):
        add(items, queue)
    add(items, other)
    said = (Said(Status.DONE), Said(Status.FAILED, failure=Failure.BUSINESS), Said(Status.DONE))
    for item, each in zip(take(items, count=3), said, strict=True):
        items.outcome.say(item.item_id, each, robot_id="robot", fence=1)
    figures = figures_of(items.store, queue.queue_id)
    assert figures.ended_last_hour == 3
    assert (figures.counts[Status.DONE], figures.business_failures, figures.counts[Status.NEW]) == (2, 1, 1)
    with database.writing() as connection:
        of = queue_items.c
        earlier = update(queue_items).where(of.status == Status.FAILED)
        connection.execute(earlier.values(ended_ms=of.ended_ms - HOUR_MS - 1))
    assert figures_of(items.store, queue.queue_id).ended_last_hour == 2
    assert figures_of(items.store, other.queue_id).ended_last_hour == 0

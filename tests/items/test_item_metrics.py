"""The gauges of queues and triggers, read from the tables at each scrape."""

from collections.abc import Sequence

from sqlalchemy import update
from trigger_work import Work
from work_items import add, make, take

from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.item_families import HOUR_MS, of_items
from bandmaster.ledger.schema.tables import queue_items

Labels = tuple[str, ...]


def scraped(database: Database, queues: int = 20) -> dict[str, dict[Labels, float]]:
    with database.reading() as connection:
        return {
            family.name: {tuple(sample.labels.values()): sample.value for sample in family.samples}
            for family in of_items(connection, queues)
        }


def ages(database: Database, ms: int, statuses: Sequence[Status]) -> None:
    """Let items be older, and have ended longer ago."""
    with database.writing() as connection:
        of = queue_items.c
        older = update(queue_items).where(of.status.in_(statuses))
        connection.execute(older.values(created_ms=of.created_ms - ms, ended_ms=of.ended_ms - ms))


def test_what_lives_is_counted_and_of_what_ended_the_last_hour(items: Items, database: Database) -> None:
    queue = make(items)
    make(items, "empty")
    for _ in range(5):
        add(items, queue)
    first, second, _ = take(items, count=3)
    items.outcome.say(first.item_id, Said(Status.DONE), robot_id="robot", fence=1)
    figures = scraped(database)
    living = figures["bandmaster_items"]
    assert {status: living["invoices", status] for status in ("NEW", "POSTPONED", "IN_PROGRESS")} == {
        "NEW": 2,
        "POSTPONED": 0,
        "IN_PROGRESS": 2,
    }
    assert figures["bandmaster_items_ended_last_hour"] == {("invoices", "DONE"): 1}
    assert figures["bandmaster_items_oldest_seconds"]["empty",] == 0
    ages(database, HOUR_MS, [Status.NEW, Status.DONE])
    items.outcome.say(second.item_id, Said(Status.DONE), robot_id="robot", fence=1)
    figures = scraped(database)
    assert figures["bandmaster_items_oldest_seconds"]["invoices",] >= HOUR_MS / 1000
    assert figures["bandmaster_items_ended_last_hour"] == {("invoices", "DONE"): 1}


def test_the_queues_with_most_that_is_new_have_series(items: Items, database: Database) -> None:
    for number in range(4):
        queue = make(items, f"queue-{number}")
        for _ in range(number):
            add(items, queue)
    assert {queue for queue, _ in scraped(database, queues=2)["bandmaster_items"]} == {"queue-2", "queue-3"}


def test_a_trigger_that_cannot_fire_is_counted_and_so_is_its_firing(work: Work, database: Database) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    work.trigger()
    work.add()
    assert work.rounds.round() == 0
    figures = scraped(database)
    assert figures["bandmaster_triggers_failing"][()] == figures["bandmaster_firings_unsent"][()] == 1

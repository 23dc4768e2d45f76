"""A forgotten user's payloads and name go from firings, from executions of triggers and from notifications, too."""

import json
from typing import Any

from notified import URL, notes, open_notifying
from sqlalchemy import insert, select
from trigger_work import Work
from work_items import add, make, take

from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.items_kept import forget_items
from bandmaster.ledger.schema.tables import notifications, payloads
from bandmaster.scheduler.events import ExecutionRequestedEvent

ANN, BOB = "ann (token 0123456789ab, 127.0.0.1)", "bob@desk"


def end_items(work: Work, *item_ids: str) -> None:
    """End items as an operator does, whatever holds them."""
    for item_id in item_ids:
        work.items.editing.delete(item_id, by="an operator", revision=None)


def told_to_program(event: str | bytes) -> dict[str, Any]:
    items = json.loads(ExecutionRequestedEvent.from_json(event).items or "[]")
    return {each["reference"]: each.get("payload") for each in items}


def fill(work: Work, **fields: Any) -> list[str]:
    """An item of ann's and one of bob's, for one execution."""
    work.trigger(batch_size=2, **fields)
    queue = work.items.queues.find("invoices")
    return [
        work.items.adding.add(queue, by=by, payload=f"secret of {by[:3]}", reference=by[:3]).item_id
        for by in (ANN, BOB)
    ]


def test_a_firing_that_is_not_sent_loses_the_payloads_of_the_user_only(work: Work, database: Database) -> None:
    work.queue.controls.change_setting("max_queue_size", 1)
    work.queue.enqueue({"command": ("true",)})
    ids = fill(work, user_id="ann")
    work.rounds.round()
    (before,) = work.firings()
    assert told_to_program(before.event) == {"ann": "secret of ann", "bob": "secret of bob"}
    end_items(work, *ids)
    forget_items(database, "ann", "forgotten-1")
    (after,) = work.firings()
    assert told_to_program(after.event) == {"ann": None, "bob": "secret of bob"}
    assert ExecutionRequestedEvent.from_json(after.event).metadata.user_id == "forgotten-1"
    work.run_all()
    work.set_firings(again_ms=1)
    assert work.rounds.round() == 1


def test_what_the_ledger_keeps_of_an_execution_loses_them_as_well(work: Work, database: Database) -> None:
    ids = fill(work)
    work.rounds.round()
    work.catch_up()

    def kept() -> dict[str, Any]:
        with database.reading() as connection:
            return told_to_program(connection.execute(select(payloads.c.event)).scalar_one())

    assert kept() == {"ann": "secret of ann", "bob": "secret of bob"}
    end_items(work, *ids)
    forget_items(database, "ann", "forgotten-1")
    assert kept() == {"ann": None, "bob": "secret of bob"}


def test_a_notification_of_anothers_item_names_a_forgotten_robot_no_more(database: Database) -> None:
    items = open_notifying(database)
    queue = make(items, max_retries=0, notify_url=URL)
    for _ in range(2):
        add(items, queue)
    for robot in ("ann", "ann-2"):
        (held,) = take(items, robot_id=robot)
        items.outcome.say(held.item_id, Said(Status.FAILED), robot_id=robot, fence=1)
    # More than are changed in one transaction.
    anns = next(note for note in notes(database) if '"robot_id":"ann"' in note.body)
    copies = [{**anns._asdict(), "delivery_id": f"copy-{number}"} for number in range(1_200)]
    with database.writing() as connection:
        connection.execute(insert(notifications), copies)
    forget_items(database, "ann", "forgotten-1")
    robots = {json.loads(note.body)["data"]["item"]["robot_id"] for note in notes(database)}
    assert robots == {"forgotten-1", "ann-2"}

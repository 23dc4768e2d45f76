"""After older data of the database were put back, what docs/ledger.md says keeps former holders of items out."""

import re
from pathlib import Path

import pytest
from sqlalchemy import update
from work_items import add, make, take

from bandmaster.items.errors import LeaseLost
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.tables import queue_items

DOCUMENT = Path(__file__).parents[2] / "docs" / "ledger.md"


def test_who_held_an_item_before_holds_it_no_more_and_fences_grow(items: Items, database: Database) -> None:
    queue = make(items)
    add(items, queue, payload=1)
    (held,) = take(items, "desk")
    with database.writing() as connection:
        # As the row was in the copy, before anybody held it.
        before = update(queue_items).values(
            status=Status.NEW, fence=0, locked_by_robot_id=None, locked_at_ms=None, locked_until_ms=None, claim_key=None
        )
        connection.execute(before)
        (statement,) = re.findall(r"UPDATE queue_items [^;]*", DOCUMENT.read_text())
        connection.exec_driver_sql(statement)
    with pytest.raises(LeaseLost):
        items.outcome.say(held.item_id, Said(Status.DONE), robot_id="desk", fence=held.fence)
    (found,) = take(items, "desk")
    assert found.fence > held.fence
    with pytest.raises(LeaseLost):
        items.outcome.say(held.item_id, Said(Status.DONE), robot_id="desk", fence=held.fence)
    assert items.outcome.say(found.item_id, Said(Status.DONE), robot_id="desk", fence=found.fence).status is Status.DONE

"""What a robot says is taken until its lease has ended, by the database's clock, and not a moment longer."""

import pytest
from work_items import add, end_lease, make, rows, take

from bandmaster.items.errors import LeaseLost
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger.database import Database
from bandmaster.scheduler.model.errors import InvalidRequest


@pytest.mark.parametrize("status", [Status.DONE, Status.FAILED, Status.NEW, Status.IN_PROGRESS])
def test_it_is_refused_though_nobody_else_has_the_item(items: Items, database: Database, status: Status) -> None:
    make(items)
    add(items, items.queues.find("invoices"))
    (item,) = take(items)
    end_lease(database, item.item_id)
    before = rows(database)
    with pytest.raises(LeaseLost, match="your lease ended at"):
        items.outcome.say(item.item_id, Said(status), robot_id="robot", fence=item.fence)
    assert rows(database) == before


def test_it_is_told_so_as_well_where_somebody_has_looked_meanwhile(items: Items, database: Database) -> None:
    make(items)
    add(items, items.queues.find("invoices"))
    for became in ("NEW", "NEW", "ABANDONED"):
        (item,) = take(items)
        end_lease(database, item.item_id)
        assert items.listing.one(item.item_id).status == became
        with pytest.raises(LeaseLost, match=f"yours to settle: your lease ended, and it has been {became} since"):
            items.outcome.say(item.item_id, Said(Status.DONE), robot_id="robot", fence=item.fence)
        with pytest.raises(LeaseLost, match=f"yours to settle: it has been {became} since"):
            items.outcome.say(item.item_id, Said(Status.DONE), robot_id="other", fence=item.fence)


@pytest.mark.parametrize("status", [Status.DELETED, Status.ABANDONED])
def test_what_is_no_outcome_is_refused(items: Items, status: Status) -> None:
    make(items)
    add(items, items.queues.find("invoices"))
    (item,) = take(items)
    with pytest.raises(InvalidRequest, match="is not said by a robot; allowed: DONE, FAILED"):
        items.outcome.say(item.item_id, Said(status), robot_id="robot", fence=item.fence)

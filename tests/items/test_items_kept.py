"""Items that ended go when their time is over, in pages; a forgotten user's lose what was in them."""

from typing import Any

import pytest
from sqlalchemy import select, update
from work_items import add, make, rows, take

from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.ledger import items_kept
from bandmaster.ledger.book import Book
from bandmaster.ledger.database import Database
from bandmaster.ledger.items_kept import forget_items, living_items_of
from bandmaster.ledger.queries.operators import Kind, Sought, audited
from bandmaster.ledger.retention import Kept, Retention
from bandmaster.ledger.schema.tables import item_changes, queue_items

DAY_MS = 86_400_000
NOW_MS = 2_000_000_000_000


def aged(database: Database, item_id: str, days: int) -> None:
    with database.writing() as connection:
        of_item = update(queue_items).where(queue_items.c.item_id == item_id)
        connection.execute(of_item.values(ended_ms=NOW_MS - days * DAY_MS))


def delete_all(book: Book, kept: Kept) -> int:
    hours = iter(range(0, 10**9, 3_600))
    deleting, deleted = Retention(book, kept, lambda: float(next(hours))), 0
    while page := deleting.step(NOW_MS):
        deleted += page
    return deleted


def test_what_ended_long_ago_goes_and_what_lives_stays(items: Items, database: Database, monkeypatch: Any) -> None:
    monkeypatch.setattr(items_kept, "ROWS_A_PAGE", 2)
    queue = make(items)
    ended = [add(items, queue, payload=number).item_id for number in range(7)]
    for item in take(items, count=7):
        items.outcome.say(item.item_id, Said(Status.DONE, result=1), robot_id="robot", fence=1)
    for number, item_id in enumerate(ended):
        aged(database, item_id, 10 * number)
    lives = add(items, queue, payload="lives").item_id
    book = Book(database, queue="exec_queue", holder="this test")
    assert book.take()
    assert delete_all(book, Kept(ms=35 * DAY_MS, payloads_ms=15 * DAY_MS)) > 0
    kept = {row["item_id"]: row for row in rows(database)}
    assert set(kept) == {*ended[:4], lives}
    assert {item_id for item_id, row in kept.items() if row["payload"] is not None} == {*ended[:2], lives}


def test_changes_of_items_are_in_the_audit_until_they_are_old(items: Items, database: Database) -> None:
    queue = make(items)
    item = add(items, queue)
    items.editing.edit(item.item_id, {"priority": 7, "payload": {"secret": 1}}, by="ann@host", revision=1)
    items.queues.change("invoices", {"max_retries": 9}, by="ann@host", revision=1)
    items.editing.delete(item.item_id, by="bob@host", revision=2)

    def told(**sought: Any) -> list[tuple[str, str, str | None, str | None, str]]:
        with database.reading() as connection:
            found = audited(connection, Sought(kinds=(Kind.ITEM,), **sought), 50)
            first = audited(connection, Sought(kinds=(Kind.ITEM,), **sought), 1)
            rest = audited(connection, Sought(kinds=(Kind.ITEM,), **sought), 50, before=first[0].place)
        assert found == [*first, *rest]
        return [(each.verb, each.subject, each.before, each.after, each.by) for each in found]

    assert [each[0] for each in told(who="bob")] == ["delete_item"]
    entries = told()
    assert [each[0] for each in entries] == ["delete_item", "change_queue", "edit_item", "create_queue"]
    assert entries[0][1:] == (item.item_id, "NEW", "DELETED", "bob@host")
    assert entries[1][1:] == ("queue:invoices", "max_retries 2", "max_retries 9", "ann@host")
    assert entries[2][2:4] == ("priority 0; payload", "priority 7; another payload")
    assert "secret" not in str(entries)
    assert len(told(subject=item.item_id)) == 2
    is_edit = item_changes.c.verb == "edit_item"
    with database.writing() as connection:
        connection.execute(update(item_changes).where(is_edit).values(at_ms=NOW_MS - 2 * DAY_MS))
        connection.execute(update(item_changes).where(~is_edit).values(at_ms=NOW_MS))
    book = Book(database, queue="exec_queue", holder="this test")
    assert book.take()
    assert delete_all(book, Kept(audit_ms=DAY_MS)) == 1
    with database.reading() as connection:
        assert "edit_item" not in connection.execute(select(item_changes.c.verb)).scalars().all()


@pytest.mark.parametrize("by", ["ann", "ann@host", "ann (token 12, 10.0.0.1)"])
def test_a_forgotten_users_items_lose_what_is_in_them(items: Items, database: Database, by: str) -> None:
    queue = make(items)
    for who in (by, "anna (token 13, 10.0.0.1)"):
        items.adding.add(queue, by=who, payload="private")
        (item,) = take(items, "ann")
        items.outcome.say(item.item_id, Said(Status.DONE, result="private"), robot_id="ann", fence=1)
    living = items.adding.add(queue, by=by)
    with database.reading() as connection:
        assert (living_items_of(connection, "ann"), living_items_of(connection, "an")) == (1, 0)
    items.editing.delete(living.item_id, by=by, revision=None)
    assert forget_items(database, "ann", "forgotten-1") == 2
    kept = rows(database)
    assert sorted(row["created_by"] for row in kept) == ["anna (token 13, 10.0.0.1)", "forgotten-1", "forgotten-1"]
    assert {row["payload"] for row in kept if row["created_by"] == "forgotten-1"} == {None}
    assert {row["locked_by_robot_id"] for row in kept} == {"forgotten-1", None}

"""Tests of addresses: sent as all notifications are, once, and counted nowhere."""

import json
from typing import Any

import pytest
from notified import URL, notes, open_notifying, set_notes
from receiver import ALLOWED, SECRET, receiving
from sqlalchemy import Connection
from work_items import add, make, take

from bandmaster.items.notifying import due
from bandmaster.items.notifying.delivering import Delivering
from bandmaster.items.notifying.due import NOBODY, NOT_SENT, TEST_OVER_AFTER_MS, TEST_TRIED_WITHIN_MS
from bandmaster.items.notifying.listing import Notification, find_notification, undelivered
from bandmaster.items.notifying.posting import Posting
from bandmaster.items.notifying.signature import verify_notification
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Failure, Status
from bandmaster.items.store import now_of
from bandmaster.items.trigger import TriggerType
from bandmaster.ledger.database import Database
from bandmaster.ledger.metrics.ledger_figures import read_ledger
from bandmaster.scheduler.model.errors import InvalidRequest


@pytest.fixture
def notifying(database: Database) -> Items:
    return open_notifying(database, ALLOWED)


def delivering(items: Items, **fields: Any) -> Delivering:
    return Delivering(items.store, Posting(ALLOWED), leads=lambda: True, **fields)


def send(items: Items, url: str) -> str:
    if not items.queues.all():
        make(items, notify_url=url)
    return items.testing.of_queue(items.queues.find("invoices"), by="a test")


def found(items: Items, delivery_id: str) -> Notification:
    return find_notification(items.store, delivery_id)


def is_counted_nowhere(items: Items, database: Database) -> bool:
    figures, listed = read_ledger(database), undelivered(items.store)
    counted = (figures.waiting_notifications, figures.totals.get("notified", []), listed.waiting, listed.failed)
    return counted == (0, [], 0, 0) and not listed.latest


def test_it_is_signed_and_tells_whose_address_it_tries(notifying: Items, database: Database) -> None:
    with receiving(202) as receiver:
        sent = [send(notifying, receiver.url)]
        cron = {"cron": "0 6 1 1 *", "notify_url": receiver.url}
        tick = notifying.triggers.create("tick", type=TriggerType.TIME, command=("true",), by="a test", **cron)
        sent.append(notifying.testing.of_trigger(tick, by="a test"))
        assert [found(notifying, each).state for each in sent] == ["waiting", "waiting"]
        assert is_counted_nowhere(notifying, database)
        assert delivering(notifying).deliver_due() == 2
        assert {verify_notification(got.headers, got.body, SECRET) for got in receiver.got} == set(sent)
        bodies = {next(iter(body["data"])): body for body in (json.loads(got.body) for got in receiver.got)}
    assert bodies["queue"]["data"]["queue"]["name"] == "invoices"
    assert bodies["trigger"]["data"] == {"trigger": {"id": tick.trigger_id, "name": "tick"}}
    assert {body["type"] for body in bodies.values()} == {"test"}
    assert [(found(notifying, each).state, found(notifying, each).last_status) for each in sent] == [("sent", 202)] * 2
    assert is_counted_nowhere(notifying, database)


def test_one_that_is_not_taken_is_not_sent_again(notifying: Items, database: Database) -> None:
    with receiving(404) as receiver:
        sent = send(notifying, receiver.url)
        work = delivering(notifying)
        assert (work.deliver_due(), work.deliver_due()) == (1, 0)
        told = found(notifying, sent)
        assert (told.state, told.last_status, told.last_problem) == ("failed", 404, "it answered with 404")
        assert len(receiver.got) == 1
    assert is_counted_nowhere(notifying, database)
    again = send(notifying, receiver.url)
    delivering(notifying).deliver_due()
    told = found(notifying, again)
    assert (again != sent, told.state, told.last_status) == (True, "failed", None)
    assert (told.last_problem or "").startswith("no connection")


def test_asked_twice_while_one_waits_there_is_one(notifying: Items, database: Database) -> None:
    with receiving() as receiver:
        assert send(notifying, receiver.url) == send(notifying, receiver.url)
        assert delivering(notifying).deliver_due() == 1
        send(notifying, receiver.url)
        assert len(notes(database)) == 2


def test_one_that_is_not_sent_any_more_is_asked_for_anew(notifying: Items, database: Database) -> None:
    def age(milliseconds: int) -> None:
        set_notes(database, created_ms=notifying.store.read(now_of) - milliseconds)

    first = send(notifying, URL)
    age(TEST_TRIED_WITHIN_MS // 2)
    assert send(notifying, URL) == first
    age(TEST_TRIED_WITHIN_MS)
    assert send(notifying, URL) != first
    assert len(notes(database)) == 2


def test_what_waits_of_another_or_tells_of_something_is_no_test(notifying: Items, database: Database) -> None:
    queue = make(notifying, notify_url=URL)
    add(notifying, queue)
    (item,) = take(notifying)
    failed = Said(Status.FAILED, failure=Failure.BUSINESS)
    notifying.outcome.say(item.item_id, failed, robot_id="robot", fence=item.fence)
    other = make(notifying, "others", notify_url=URL)
    told = {note.delivery_id for note in notes(database)}
    sent = {notifying.testing.of_queue(each, by="a test") for each in (queue, other)}
    assert (len(told), len(sent), len(notes(database))) == (1, 2, 3)
    assert not sent & told


def test_without_an_address_it_is_refused_with_what_to_do(notifying: Items, database: Database) -> None:
    make(notifying)
    with pytest.raises(InvalidRequest, match="bandmaster queue change invoices --notify") as raised:
        send(notifying, "")
    assert (raised.value.field, notes(database)) == ("notify_url", [])


def test_one_that_nobody_sends_in_time_is_sent_to_nobody(notifying: Items, database: Database) -> None:
    later_ms = 0

    def now(connection: Connection) -> int:
        return now_of(connection) + later_ms

    def give_up() -> int:
        return notifying.store.write(lambda connection: due.give_up(connection, now(connection)))

    with receiving() as receiver:
        sent = send(notifying, receiver.url)
        later_ms = TEST_TRIED_WITHIN_MS + 1
        # What was begun before may still be under way.
        assert (delivering(notifying, now=now).deliver_due(), give_up()) == (0, 0)
        later_ms = TEST_OVER_AFTER_MS + 1
        assert give_up() == 1
        assert (receiver.got, found(notifying, sent).last_problem) == ([], NOT_SENT)
        later_ms = 0
        sent = send(notifying, receiver.url)
        notifying.queues.change("invoices", {"notify_url": None}, by="a test", revision=None)
        assert (give_up(), found(notifying, sent).last_problem) == (1, NOBODY)
    assert is_counted_nowhere(notifying, database)

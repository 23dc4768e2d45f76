"""What is written of items that ended badly and of triggers that begin to fail, and to whom it may be sent."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from notified import URL, notes, open_notifying
from receiver import NOTIFY
from sqlalchemy import Connection, select
from trigger_work import Work
from work_items import add, end_lease, make, take

from bandmaster.items.notifying.address import check_address
from bandmaster.items.opened import Items, open_items
from bandmaster.items.outcome import Said
from bandmaster.items.returning import give_back
from bandmaster.items.states import Failure, Status
from bandmaster.ledger.database import Database
from bandmaster.ledger.items_kept import forget_items
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import notifications
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.states import State


def said(item: Any, items: Items, **fields: Any) -> None:
    items.outcome.say(item.item_id, Said(Status.FAILED, **fields), robot_id="robot", fence=item.fence)


def told(database: Database) -> list[Any]:
    return [json.loads(row.body) for row in notes(database)]


@pytest.fixture
def notifying(database: Database) -> Items:
    return open_notifying(database)


def test_an_item_that_failed_for_good_is_told_of_without_its_payload(notifying: Items, database: Database) -> None:
    queue = make(notifying, max_retries=1, notify_url=URL)
    added = add(notifying, queue, payload={"secret": "of the payload"}, reference="17")
    for _ in range(2):
        assert notes(database) == []
        (held,) = take(notifying)
        said(held, notifying, error_message="x" * 600, result={"secret": "of the result"})
    (note,) = notes(database)
    assert (note.subject, note.subject_id, note.event, note.item_id) == (
        *("queue", queue.queue_id, "item.failed"),
        added.item_id,
    )
    assert (note.attempts, note.sent_ms, note.failed_ms) == (0, None, None)
    body = json.loads(note.body)
    assert body["type"] == "item.failed"
    assert body["data"]["queue"] == {"id": queue.queue_id, "name": "invoices"}
    item = body["data"]["item"]
    assert (item["id"], item["reference"], item["status"], item["failure"]) == (
        *(added.item_id, "17", "FAILED"),
        "application",
    )
    assert (item["reason"], item["retries"], item["robot_id"]) == ("x" * 500, 1, "robot")
    assert "secret" not in note.body
    assert item["ended_at"] == body["timestamp"]


def test_a_failure_of_business_is_told_of_at_once_and_once(notifying: Items, database: Database) -> None:
    add(notifying, make(notifying, max_retries=5, notify_url=URL))
    (held,) = take(notifying)
    for _ in range(2):
        said(held, notifying, failure=Failure.BUSINESS)
    (body,) = told(database)
    assert body["data"]["item"]["failure"] == "business"


def test_a_queue_without_an_address_tells_nobody(notifying: Items, database: Database) -> None:
    add(notifying, make(notifying, max_retries=0))
    (held,) = take(notifying)
    said(held, notifying)
    assert notes(database) == []


def test_an_item_whose_third_lease_ran_out_is_told_of(notifying: Items, database: Database) -> None:
    queue = make(notifying, notify_url=URL)
    lost, other = add(notifying, queue), add(notifying, queue)
    for _ in range(3):
        assert notes(database) == []
        take(notifying)
        end_lease(database, lost.item_id)
        notifying.store.write(lambda connection: give_back(connection, queue.queue_id, 2**40))
    (body,) = told(database)
    assert (body["type"], body["data"]["item"]["id"]) == ("item.abandoned", lost.item_id)
    assert body["data"]["item"]["abandoned"] == 3
    assert other.item_id not in json.dumps(body)


class Broken(Exception):
    """What breaks a transaction off."""


def test_what_is_rolled_back_is_told_to_nobody(
    notifying: Items, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(notifying, make(notifying, max_retries=0, notify_url=URL))
    (held,) = take(notifying)
    write = notifying.store.write

    def write_and_break(work: Callable[[Connection], Any]) -> None:
        def broken(connection: Connection) -> None:
            work(connection)
            assert connection.execute(select(notifications)).all() != []
            raise Broken

        write(broken)

    monkeypatch.setattr(notifying.store, "write", write_and_break)
    with pytest.raises(Broken):
        said(held, notifying)
    assert notes(database) == []
    assert notifying.listing.one(held.item_id).status is Status.IN_PROGRESS


def test_the_items_of_a_failed_execution_are_told_of(work: Work, database: Database) -> None:
    work.items = open_notifying(database)
    make(work.items, max_retries=0, notify_url=URL)
    work.trigger(batch_size=3)
    ids = work.add(3)
    work.rounds.round()
    work.run_all(State.FAILED)
    work.catch_up()
    assert sorted(body["data"]["item"]["id"] for body in told(database)) == sorted(ids)
    assert {body["data"]["item"]["reason"] for body in told(database)} == {"its execution ended as FAILED"}


def test_a_trigger_that_begins_to_fail_is_told_of_once_a_streak(work: Work, database: Database) -> None:
    work.items = open_notifying(database)
    made = work.trigger(notify_url=URL)
    work.add()
    for streak in (1, 2):
        work.set_trigger(timeout_seconds=-1)
        for _ in range(3):
            work.set_trigger(next_fire_ms=1, backoff_ms=None)
            work.rounds.round()
        assert work.found().failures == 3
        assert [body["type"] for body in told(database)] == ["trigger.failing"] * streak
        work.set_trigger(timeout_seconds=5, backoff_ms=None)
        work.rounds.round()
        work.run_all()
        work.catch_up()
        work.add()
    (note, _) = notes(database)
    assert (note.subject, note.subject_id, note.item_id) == ("trigger", made.trigger_id, None)
    trigger = told(database)[0]["data"]["trigger"]
    assert (trigger["name"], "timeout_seconds" in trigger["reason"]) == ("book", True)


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://hooks.example/", "https://user:word@hooks.example/", "https://user@hooks.example/", "hooks.example"),
        *("https://", "https://hooks.example/#part", "https://hooks.example:0/", "https://hooks.example:99999/"),
        *("https://hooks.example/ two", "https://hooks.example\\@evil.example/", "https://hööks.example/"),
        *("https://[::1", "https://hooks.example/" + "x" * 2000, "https://hooks.example/\r\nx", ""),
        *("http://127.0.0.1/", "http://169.254.169.254/latest", "http://10.0.0.1/", "http://[::1]/", "http://0.0.0.0/"),
        *("http://[::ffff:127.0.0.1]/", "http://[fd00::1]/", "http://[64:ff9b::7f00:1]/", "http://[2002:7f00:1::]/"),
        *("http://224.0.0.1/", "http://[ff02::1]/", "http://[fe80::1]/", "http://100.64.0.1/", "http://240.0.0.1/"),
    ],
)
def test_what_is_no_address_of_a_receiver_is_refused(url: str) -> None:
    with pytest.raises(InvalidRequest, match="notify_url"):
        check_address({"notify_url": url}, NOTIFY)


def test_addresses_of_receivers_are_taken_and_the_audit_has_no_path_of_them(
    notifying: Items, database: Database
) -> None:
    queue = make(notifying)
    for url in (URL, "http://8.8.8.8:8080/x?y=z", "https://[2606:4700::1111]/", "http://[64:ff9b::808:808]/"):
        after = notifying.queues.change(queue.queue_id, {"notify_url": url}, by="a test", revision=None)
        assert after.notify_url == url
    after = notifying.queues.change(queue.queue_id, {"notify_url": None}, by="a test", revision=None)
    assert after.notify_url is None
    with database.reading() as connection:
        audit = connection.exec_driver_sql("SELECT value_before, value_after FROM item_changes").all()
    assert "https://hooks.example/…" in str(audit)
    assert "token" not in str(audit)


def test_without_a_secret_an_address_is_refused_with_what_to_do(database: Database) -> None:
    items = open_items(Asking(database, queue="exec_queue"))
    with pytest.raises(InvalidRequest, match=r"notify\.secret_file"):
        make(items, notify_url=URL)
    queue = make(items)
    with pytest.raises(InvalidRequest, match="whsec_"):
        items.queues.change(queue.queue_id, {"notify_url": URL}, by="a test", revision=None)
    assert NOTIFY.has_secret


def test_what_is_to_be_told_of_a_forgotten_users_items_goes(notifying: Items, database: Database) -> None:
    queue = make(notifying, max_retries=0, notify_url=URL)
    of_ann = notifying.adding.add(queue, by="ann", reference="of Ann").item_id
    of_bob = notifying.adding.add(queue, by="bob").item_id
    for held in take(notifying, count=2):
        said(held, notifying)
    assert {row.item_id for row in notes(database)} == {of_ann, of_bob}
    forget_items(database, "ann", "forgotten-1")
    assert {row.item_id for row in notes(database)} == {of_bob}

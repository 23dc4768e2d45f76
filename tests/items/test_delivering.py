"""Delivery of what is written: again and again under one id, whoever dies when, and no receiver holds up another."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from databases import POSTGRESQL_IN_CHECK
from notified import notes, open_notifying, set_notes
from receiver import ALLOWED, HANGS, SECRET, Receiver, receiving
from sqlalchemy import Connection
from work_items import add, make, take

from bandmaster.items.notifying import due
from bandmaster.items.notifying.delivering import AT_ONCE_TO_ONE, Delivering
from bandmaster.items.notifying.due import GIVEN_UP_AFTER_MS, KEPT_MS, NOBODY, pause_ms
from bandmaster.items.notifying.posting import Posting
from bandmaster.items.notifying.signature import verify_notification
from bandmaster.items.opened import Items
from bandmaster.items.outcome import Said
from bandmaster.items.states import Status
from bandmaster.items.store import now_of
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable
from bandmaster.ledger.metrics.ledger_figures import read_ledger
from waiting import GENEROUS_SECONDS, wait_until


@pytest.fixture
def notifying(database: Database) -> Items:
    return open_notifying(database, ALLOWED)


def fail(items: Items, url: str, *, queue: str = "invoices", count: int = 1) -> list[str]:
    """Let items of a queue with this address fail for good; their ids."""
    if queue not in {each.name for each in items.queues.all()}:
        make(items, queue, max_retries=0, notify_url=url)
    made = items.queues.find(queue)
    ids = [add(items, made, payload="secret").item_id for _ in range(count)]
    for held in take(items, queue=queue, count=count):
        items.outcome.say(held.item_id, Said(Status.FAILED), robot_id="robot", fence=held.fence)
    return ids


def one(items: Items, *, patience_seconds: float = 10, **fields: Any) -> Delivering:
    settings = ALLOWED.model_copy(update={"timeout_seconds": patience_seconds})
    return Delivering(items.store, Posting(settings), leads=lambda: True, **fields)


@contextmanager
def running(work: Delivering) -> Generator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=work.run, args=(stop,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(GENEROUS_SECONDS)
        assert not thread.is_alive()


def totals(database: Database) -> dict[str, int]:
    return {each.labels["outcome"]: each.value for each in read_ledger(database).totals.get("notified", [])}


def test_it_is_sent_under_the_same_id_until_the_receiver_takes_it(notifying: Items, database: Database) -> None:
    with receiving(500, 302, 200) as receiver:
        (item_id,) = fail(notifying, receiver.url)
        work = one(notifying)
        for attempts in (1, 2):
            assert (work.deliver_due(), work.deliver_due()) == (1, 0)
            (note,) = notes(database)
            assert (note.attempts, note.sent_ms) == (attempts, None)
            assert note.again_ms > notifying.store.read(now_of)
            assert "it answered with" in note.last_problem
            set_notes(database, again_ms=1)
        created_ms = notifying.store.read(now_of) - 7_000
        set_notes(database, created_ms=created_ms)
        figures = read_ledger(database)
        assert figures.waiting_notifications == 1
        assert 7_000 <= figures.oldest_notification_ms <= notifying.store.read(now_of) - created_ms
        assert (work.deliver_due(), work.deliver_due()) == (1, 0)
    assert len(receiver.got) == 3
    for got in receiver.got:
        assert verify_notification(got.headers, got.body, SECRET) == note.delivery_id
        assert got.body.decode() == note.body
    (note,) = notes(database)
    assert (note.item_id, note.attempts, note.last_problem, note.last_status) == (item_id, 3, None, 200)
    assert note.sent_ms is not None
    assert totals(database) == {"sent": 1}
    figures = read_ledger(database)
    assert (figures.waiting_notifications, figures.oldest_notification_ms) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("step", ["before it is sent", "before it is noted"])
def test_killed_at_any_step_it_is_delivered_under_its_id(
    notifying: Items, database: Database, ledger_url: str, step: str
) -> None:
    with receiving() as receiver:
        fail(notifying, receiver.url)
        program = Path(__file__).with_name("delivering_process.py")
        path = os.pathsep.join((str(program.parent), str(program.parent.parent)))
        killed = subprocess.run(
            [sys.executable, program, ledger_url, step],
            check=False,
            timeout=60,
            env=os.environ | {"PYTHONPATH": path},
        )
        assert killed.returncode == -signal.SIGKILL
        assert one(notifying).deliver_due() == 1
        (note,) = notes(database)
        assert note.sent_ms is not None
        assert receiver.ids == [note.delivery_id] * (1 if step == "before it is sent" else 2)


def test_a_receiver_that_hangs_holds_up_nobody(notifying: Items, database: Database) -> None:
    with receiving(HANGS) as hanging, receiving() as good:
        fail(notifying, hanging.url, queue="hanging", count=2 * AT_ONCE_TO_ONE)
        ids = fail(notifying, good.url, queue="good", count=3 * AT_ONCE_TO_ONE)
        with running(one(notifying, patience_seconds=60)):
            wait_until(lambda: totals(database) == {"sent": len(ids)}, what="all that the good one gets")
            assert len(good.ids) == len(set(good.ids)) == len(ids)
            assert 0 < len(hanging.got) <= AT_ONCE_TO_ONE
    assert {note.item_id for note in notes(database) if note.sent_ms is not None} == set(ids)
    assert {note.attempts for note in notes(database) if note.sent_ms is None} == {0}


def test_what_cannot_be_noted_is_not_sent_again_and_again(
    notifying: Items, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    write, refusals = notifying.store.write, list[int]()

    def full(work: Callable[[Connection], Any]) -> Any:
        if receiver.got and len(refusals) < 2:
            refusals.append(1)
            raise LedgerUnavailable("the disk is full", url="sqlite:///x")
        return write(work)

    with receiving() as receiver:
        fail(notifying, receiver.url)
        monkeypatch.setattr(notifying.store, "write", full)
        assert one(notifying).deliver_due() == 1
    assert (len(refusals), len(receiver.got)) == (2, 1)
    assert totals(database) == {"sent": 1}


def test_after_a_day_it_is_given_up_and_kept_for_a_while(notifying: Items, database: Database) -> None:
    later_ms = GIVEN_UP_AFTER_MS - 60_000

    def now(connection: Connection) -> int:
        return now_of(connection) + later_ms

    work = one(notifying, now=now)
    with receiving(500) as receiver:
        fail(notifying, receiver.url)
        work.deliver_due()
        (note,) = notes(database)
        assert (note.failed_ms, note.attempts) == (None, 1)
        later_ms = GIVEN_UP_AFTER_MS + 3_700_000
        work.deliver_due()
        (note,) = notes(database)
        assert (note.failed_ms is None, note.attempts, note.last_problem) == (False, 2, "it answered with 500")
        assert work.deliver_due() == 0
    assert totals(database) == {"failed": 1}
    for kept_ms, left in ((KEPT_MS - 60_000, 1), (KEPT_MS + 60_000, 0)):
        at_ms = note.failed_ms + kept_ms
        notifying.store.write(lambda connection, at_ms=at_ms: due.delete_old(connection, at_ms))
        assert len(notes(database)) == left


def test_what_was_sent_goes_after_its_time(notifying: Items, database: Database) -> None:
    with receiving() as receiver:
        fail(notifying, receiver.url)
        one(notifying).deliver_due()
    (note,) = notes(database)
    for kept_ms, left in ((KEPT_MS - 60_000, 1), (KEPT_MS + 60_000, 0)):
        at_ms = note.sent_ms + kept_ms
        notifying.store.write(lambda connection, at_ms=at_ms: due.delete_old(connection, at_ms))
        assert len(notes(database)) == left


def test_it_goes_to_the_address_that_its_queue_has_now_or_to_nobody(notifying: Items, database: Database) -> None:
    with receiving() as before, receiving() as now:
        fail(notifying, before.url, count=2)
        notifying.queues.change("invoices", {"notify_url": now.url}, by="a test", revision=None)
        assert one(notifying).deliver_due() == 2
        fail(notifying, now.url)
        notifying.queues.change("invoices", {"notify_url": None}, by="a test", revision=None)
        assert one(notifying).deliver_due() == 0
        assert (before.got, len(now.got)) == ([], 2)
    assert notifying.store.write(lambda connection: due.give_up(connection, now_of(connection))) == 1
    (note,) = (each for each in notes(database) if each.sent_ms is None)
    assert (note.failed_ms is None, note.last_problem) == (False, NOBODY)
    assert totals(database) == {"sent": 2, "failed": 1}


@pytest.mark.parametrize("call", ["read", "write"])
def test_whatever_goes_wrong_it_goes_on_and_sends_nothing_twice(
    notifying: Items, database: Database, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    asked, failed = getattr(notifying.store, call), list[int]()

    def fail_at_first(work: Callable[[Connection], Any]) -> Any:
        if len(failed) < 2:
            failed.append(1)
            raise ValueError("nothing that a database says")
        return asked(work)

    with receiving() as receiver:
        fail(notifying, receiver.url)
        monkeypatch.setattr(notifying.store, call, fail_at_first)
        with running(one(notifying)):
            wait_until(lambda: totals(database) == {"sent": 1}, what="what is delivered after the failures")
    assert (len(failed), len(receiver.got)) == (2, 1)


def test_who_does_not_lead_delivers_nothing(notifying: Items) -> None:
    leads = threading.Event()
    asked = threading.Semaphore(0)

    def tell() -> bool:
        asked.release()
        return leads.is_set()

    with receiving() as receiver:
        fail(notifying, receiver.url)
        with running(Delivering(notifying.store, Posting(ALLOWED), leads=tell)):
            assert asked.acquire(timeout=30)
            assert asked.acquire(timeout=30)
            assert receiver.got == []
            leads.set()
            wait_until(lambda: receiver.got, what="what is delivered by the leader")


def test_each_pause_is_longer_up_to_an_hour() -> None:
    for attempts, seconds in ((1, 5), (2, 10), (5, 80), (11, 3_600), (10_000, 3_600)):
        assert seconds * 1000 <= pause_ms(attempts) <= seconds * 1250


@pytest.mark.slow
@pytest.mark.parametrize("database_kind", POSTGRESQL_IN_CHECK, indirect=True)
def test_the_ledgers_process_delivers(
    notifying: Items, database: Database, ledger_url: str, redis_url: str, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(SECRET)
    environment = os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_LEDGER__URL": ledger_url,
        "BANDMASTER_NOTIFY__SECRET_FILE": str(tmp_path / "secret"),
        "BANDMASTER_NOTIFY__PRIVATE_NETWORKS": "127.0.0.0/8",
        "BANDMASTER_LOGGING__LEVEL": "DEBUG",
    }
    log = tmp_path / "log"
    with receiving() as receiver, log.open("w") as into:
        process = subprocess.Popen(
            [sys.executable, "-m", "bandmaster.ledger"], env=environment, stdout=into, stderr=into
        )
        try:
            fail(notifying, receiver.url)
            wait_until(lambda: totals(database) == {"sent": 1}, what="a delivery")
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=GENEROUS_SECONDS) == 0
        finally:
            process.kill()
            process.wait()
        check(receiver)
    said = log.read_text()
    assert "notified" in said
    assert SECRET not in said
    assert "of=test" not in said, "the address may have a secret in its path"


def check(receiver: Receiver) -> None:
    (got,) = receiver.got
    assert verify_notification(got.headers, got.body, SECRET)
    assert b"secret" not in got.body

"""Refusals and logins of browsers grow old, too; and what is old is found without reading the rest of the ledger."""

import pytest
from ledger_reading import Reading, catch_up
from sqlalchemy import Connection, event
from test_forgetting import DAY_MS, Later, end, forget, send

from bandmaster.ledger import retention
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.retention import Kept, Retention
from bandmaster.scheduler.engine.sessions import NewSession, Sessions
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.queue import ExecutionQueueService


@pytest.fixture
def book(database: Database) -> Book:
    return Book(database, queue="exec_queue", holder="this test")


def refuse(queue: ExecutionQueueService, name: str) -> None:
    with pytest.raises(DuplicateExecution):
        send(queue, name)


def test_refusals_go_with_their_age_whether_one_by_one_or_counted(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "ROWS_A_PAGE", 4)
    send(queue, "lives")
    for _ in range(15):
        refuse(queue, "lives")
    catch_up(consumer)
    assert book.take()
    refusals = "SELECT count(*) FROM transitions WHERE verb = 'reject'"
    written, now_ms = reading.one(refusals), queue.views.server_time_ms()
    assert written >= 10
    assert forget(book, Kept(ms=DAY_MS), now_ms) == 0
    assert reading.one(refusals) == written
    assert forget(book, Kept(ms=DAY_MS), now_ms + 2 * DAY_MS) == written
    assert [row["verb"] for row in reading.rows("SELECT verb FROM transitions")] == ["park"]


def test_logins_go_with_their_age_and_the_last_change_of_a_limit_stays(
    queue: ExecutionQueueService, consumer: Consumer, book: Book, reading: Reading
) -> None:
    queue.controls.set_limit("tenant:a", 3)
    new = NewSession(digest="d" * 64, whose="t", record="{}", idle_ms=1000, lasting_ms=1000, most=1, code="", before="")
    Sessions(queue.scripts).begin(new, by="ann")
    catch_up(consumer)
    assert reading.one("SELECT count(*) FROM changes") == 2
    assert book.take()
    forget(book, Kept(audit_ms=DAY_MS), queue.views.server_time_ms() + 2 * DAY_MS)
    assert [row["name"] for row in reading.rows("SELECT name FROM changes")] == ["tenant:a"]


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_each_look_for_what_is_old_goes_by_an_index(queue: ExecutionQueueService, database: Database) -> None:
    # On SQLite: PostgreSQL reads a table as small as this as a whole. The indexes are the same.
    book = Book(database, queue="exec_queue", holder="this test")
    consumer = Consumer(queue, book)
    assert consumer.begin()
    for name in ("a", "b"):
        send(queue, name)
        end(queue, name)
    catch_up(consumer)
    looked: list[str] = []

    def note(connection: Connection, _cursor: object, statement: str, parameters: object, *_: object) -> None:
        if statement.startswith(("SELECT", "DELETE")):
            plan = connection.connection.cursor()
            plan.execute(f"EXPLAIN QUERY PLAN {statement}", parameters)  # type: ignore[arg-type]
            looked.extend(row[3] for row in plan.fetchall())

    engine = database._engine  # pyright: ignore[reportPrivateUsage]
    event.listen(engine, "before_cursor_execute", note)
    try:
        assert Retention(book, Kept(ms=DAY_MS), Later()).step(queue.views.server_time_ms()) == 0
    finally:
        event.remove(engine, "before_cursor_execute", note)
    scans = [each for each in looked if each.startswith("SCAN") and "INDEX" not in each]
    assert [each for each in scans if "executions" in each or "transitions" in each] == []
    for index in ("ix_executions_ended", "ix_executions_lost", "ix_transitions_refused"):
        assert any(index in each for each in looked), looked

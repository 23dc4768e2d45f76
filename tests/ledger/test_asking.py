"""A read on which more depends says what was wrong with it and is not waited for; whose a ledger is, is looked at."""

import threading
from collections.abc import Callable

import pytest
from sqlalchemy import update

from bandmaster.ledger.book import Book
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import AnotherQueue, LedgerRefused, LedgerUnavailable
from bandmaster.ledger.queries import asking as asking_module
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.schema.tables import consumer
from waiting import wait_until


@pytest.fixture
def asking(database: Database) -> Asking:
    return Asking(database, queue="exec_queue")


def raising(error: Exception) -> Callable[[], None]:
    def read() -> None:
        raise error

    return read


@pytest.mark.parametrize("error", [KeyError("a mistake"), LedgerUnavailable("is away", url="sqlite://")])
def test_what_a_read_raises_is_what_its_caller_gets(error: Exception, asking: Asking) -> None:
    with pytest.raises(type(error)) as raised:
        asking.soon(raising(error))
    assert raised.value is error


def test_one_that_hangs_is_not_waited_for(asking: Asking, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandmaster.ledger.queries.asking.SOON_SECONDS", 0.05)
    goes_on = threading.Event()
    with pytest.raises(LedgerUnavailable, match=r"no answer within 0\.05 s"):
        asking.soon(goes_on.wait)
    goes_on.set()


def test_what_it_reads_is_answered(asking: Asking) -> None:
    assert asking.soon(lambda: 7) == 7


def is_refused(asking: Asking) -> bool:
    try:
        with asking.reading():
            return False
    except AnotherQueue:
        return True


def is_of(database: Database, queue: str) -> None:
    """Let a ledger be that of a queue."""
    assert Book(database, queue="exec_queue", holder="this test").take()
    with database.writing() as connection:
        connection.execute(update(consumer).values(queue=queue))


def test_one_that_was_nobodys_and_has_become_another_queues_is_refused_soon(asking: Asking, database: Database) -> None:
    assert not is_refused(asking)
    is_of(database, "staging")
    wait_until(lambda: is_refused(asking), what="the next look")


def test_until_the_next_look_nobody_is_asked_whose_it_is(
    asking: Asking, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "LOOK_SECONDS", 3_600)
    assert not is_refused(asking)
    is_of(database, "staging")
    assert not is_refused(asking)


def test_one_that_is_ours_is_looked_at_again_after_an_error_only(
    asking: Asking, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking_module, "LOOK_SECONDS", 0)
    is_of(database, "exec_queue")
    assert not is_refused(asking)
    is_of(database, "staging")
    assert not is_refused(asking)
    with pytest.raises((LedgerRefused, LedgerUnavailable)), asking.reading() as connection:
        connection.exec_driver_sql("SELECT missing FROM consumer")
    assert is_refused(asking)

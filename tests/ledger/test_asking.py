"""A read on which more depends says what was wrong with it, and is not waited for."""

import threading
from collections.abc import Callable

import pytest

from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable
from bandmaster.ledger.queries.asking import Asking


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

"""A database's connections are closed with it, those in use as soon as they are not."""

import contextlib
from typing import Any

import pytest
from ledger_reading import Reading
from sqlalchemy import text

from bandmaster.ledger.database import Database


def is_open(connection: Any) -> bool:
    with contextlib.suppress(Exception):
        connection.cursor().execute("SELECT 1")
        return True
    return False


@pytest.mark.parametrize("fails", [False, True])
def test_one_that_is_in_use_is_closed_when_it_comes_back(database: Database, fails: bool) -> None:
    driver: Any = None
    with contextlib.suppress(RuntimeError), database.reading() as connection:
        driver = connection.connection.driver_connection
        database.close()
        assert connection.execute(text("SELECT 1")).scalar_one() == 1, "what is under way is not cut off"
        if fails:
            raise RuntimeError
    assert not is_open(driver)


def test_one_that_comes_back_to_an_open_database_stays_open(database: Database) -> None:
    with database.reading() as connection:
        driver = connection.connection.driver_connection
    assert is_open(driver)


def test_a_transaction_that_reads_sees_one_moment(database: Database, reading: Reading) -> None:
    with database.reading() as connection:
        count = text("SELECT count(*) FROM journals")
        before = connection.execute(count).scalar_one()
        reading.change("INSERT INTO journals (incarnation, begun_ms) VALUES ('a', 1)")
        assert connection.execute(count).scalar_one() == before == 0
    assert reading.one("SELECT count(*) FROM journals") == 1

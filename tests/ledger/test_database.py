"""A database's connections are closed with it, those in use as soon as they are not."""

import contextlib
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
from ledger_reading import Reading
from sqlalchemy import text

from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerUnavailable


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


def test_a_process_whose_connections_are_all_in_use_says_so(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    pool = cast("Any", database)._engine.pool
    monkeypatch.setattr(pool, "_timeout", 0.01)
    with contextlib.ExitStack() as taken:
        for _ in range(pool.size() + pool._max_overflow):
            taken.enter_context(database.reading())
        with pytest.raises(LedgerUnavailable, match="all connections of this process are in use"), database.reading():
            pass
    with database.reading():
        pass


def test_a_transaction_that_reads_sees_one_moment(database: Database, reading: Reading) -> None:
    with database.reading() as connection:
        count = text("SELECT count(*) FROM journals")
        before = connection.execute(count).scalar_one()
        reading.change("INSERT INTO journals (incarnation, begun_ms) VALUES ('a', 1)")
        assert connection.execute(count).scalar_one() == before == 0
    assert reading.one("SELECT count(*) FROM journals") == 1


def test_a_file_that_is_deleted_or_replaced_is_noticed_and_one_that_is_brought_back_goes_on(tmp_path: Path) -> None:
    file = tmp_path / "ledger.sqlite3"
    with contextlib.closing(Database(f"sqlite:///{file}")) as database:
        with database.writing() as connection:
            connection.execute(text("CREATE TABLE t (n INTEGER)"))
        away = file.rename(tmp_path / "away")
        for way in (database.writing, database.reading):
            with pytest.raises(LedgerUnavailable, match="its file was deleted while it was open"), way():
                pass
        assert not file.exists(), "nobody makes an empty one in its place"
        copy = tmp_path / "copy"
        shutil.copy(away, copy)
        away.rename(file)
        with database.writing() as connection:
            connection.execute(text("INSERT INTO t VALUES (1)"))
        for each in tmp_path.glob("ledger.sqlite3*"):
            each.unlink()
        copy.rename(file)
        with pytest.raises(LedgerUnavailable, match="its file was replaced while it was open"), database.reading():
            pass
        with database.reading() as connection:
            assert connection.execute(text("SELECT 1")).scalar_one() == 1

"""Tables of before the first release: whoever opens them is told so, and what to do."""

import pytest
from ledger_process import Attempt, stands
from ledger_reading import Reading

from bandmaster.configs.settings import Settings
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import SchemaOfBefore
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.readying import open_ledger
from bandmaster.ledger.schema.upgrading import upgrade

TOLD = "of before the first release, and no upgrade leads from there: move SQLite's file away, or name an empty"


@pytest.mark.parametrize("revision", ["0001", "0016"])
def test_they_are_refused_by_whoever_opens_them_and_stay_as_they_are(
    revision: str, database: Database, ledger_url: str, reading: Reading
) -> None:
    reading.change(f"UPDATE alembic_version SET version_num = '{revision}'")
    reading.change("DROP TABLE compatibility")
    for refused in (
        lambda: open_ledger(Settings.model_validate({"ledger": {"url": ledger_url}})),
        lambda: upgrade(database),
        lambda: stands(database),
        Asking(database, queue="exec_queue").is_written,
    ):
        with pytest.raises(SchemaOfBefore, match=f"is at revision {revision}, {TOLD}"):
            refused()
    assert reading.one("SELECT version_num FROM alembic_version") == revision


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_command_that_upgrades_says_so_in_one_line(reading: Reading, attempt: Attempt) -> None:
    reading.change("UPDATE alembic_version SET version_num = '0016'")
    told = attempt("upgrade")
    assert (told.code, told.out, told.err.count("\n")) == (2, "", 1)
    assert TOLD in told.err

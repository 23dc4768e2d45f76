"""Rows that are appended, on both databases: all values come back as they were, and a refusal is the ledger's own."""

import pytest
from databases import ALL_IN_CHECK
from sqlalchemy import insert, select

from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import LedgerRefused
from bandmaster.ledger.schema.tables import journals, transitions
from bandmaster.ledger.statements import put

pytestmark = pytest.mark.parametrize("database_kind", ALL_IN_CHECK, indirect=True)

HOSTILE = "tab\there, a new\nline, a back\\slash, \\N, \\., quotes ' \" and ü 🎺"


def row(number: int, *, journal_id: int = 1, reason: str | None = None) -> dict[str, object]:
    return {
        "journal_id": journal_id,
        "entry_ms": 2**40,
        "entry_number": number,
        "at_ms": 2**40,
        "execution_id": f"id-{number}",
        "verb": "admit",
        "state": None,
        "attempt": 1,
        "reason": reason,
    }


@pytest.fixture(autouse=True)
def a_journal(database: Database) -> None:
    with database.writing() as connection:
        connection.execute(insert(journals).values(journal_id=1, incarnation="it", begun_ms=0))


def test_texts_that_look_like_the_protocols_marks_come_back_as_they_were(database: Database) -> None:
    rows = [row(0, reason=HOSTILE), row(1, reason=""), row(2)]
    with database.writing() as connection:
        put(connection, transitions, rows)
    with database.reading() as connection:
        columns = [transitions.c[name] for name in rows[0]]
        found = connection.execute(select(*columns).order_by(transitions.c.entry_number)).mappings()
        assert [dict(each) for each in found] == rows


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([row(1), row(1)], id="the same entry twice"),
        pytest.param([row(1), row(2, journal_id=77)], id="a journal that is none"),
        pytest.param([row(1), row(2) | {"verb": None}], id="no value where one is needed"),
    ],
)
def test_rows_that_cannot_stand_are_refused_and_none_of_them_stays(
    database: Database, wrong: list[dict[str, object]]
) -> None:
    with pytest.raises(LedgerRefused), database.writing() as connection:
        put(connection, transitions, wrong)
    with database.writing() as connection:
        assert connection.execute(select(transitions.c.entry_number)).all() == []
        put(connection, transitions, [row(1)])

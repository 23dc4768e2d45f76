"""A step that shuts older releases out has to say so in `compatibility`; one that only adds lets them in."""

from pathlib import Path

import pytest
from ledger_reading import Reading
from sqlalchemy import inspect
from steps import Step, later_release

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema import upgrading
from bandmaster.ledger.schema.revisions import known

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
Shape = dict[tuple[str, str], bool]
"""Table and column → whether a row needs a value for it."""


def shape_of(database: Database) -> Shape:
    with database.reading() as connection:
        seen = inspect(connection)
        return {
            (table, column["name"]): not column["nullable"] and column["default"] is None
            for table in seen.get_table_names()
            for column in seen.get_columns(table)
        }


def shuts_out(before: Shape, after: Shape) -> bool:
    """Whether a release that knows the tables of before could not write or read those of after."""
    tables = {table for table, _ in before}
    is_needed = {key for key, needed in after.items() if needed and key[0] in tables and not before.get(key, False)}
    return bool(before.keys() - after.keys() or is_needed)


def silent(database: Database, reading: Reading) -> list[str]:
    """The steps after the first that shut out older releases and do not say so."""
    upgrading.downgrade(database, known()[0])
    found: list[str] = []
    for revision in known()[1:]:
        shape, said = shape_of(database), reading.one("SELECT compatible_from FROM compatibility")
        upgrading.upgrade(database, revision)
        says_so = reading.one("SELECT compatible_from FROM compatibility") > said
        if shuts_out(shape, shape_of(database)) and not says_so:
            found.append(revision)
    return found


def test_each_step_that_shuts_out_older_releases_says_so(database: Database, reading: Reading) -> None:
    assert silent(database, reading) == []


def test_a_step_that_shuts_them_out_and_does_not_say_so_is_found(
    database: Database, reading: Reading, tmp_path: Path
) -> None:
    says_so = "UPDATE compatibility SET compatible_from = '9998'"
    steps = (
        Step("9997", 'op.add_column("executions", sa.Column("later", sa.Text))'),
        Step("9998", f'op.drop_column("executions", "score"); op.execute("{says_so}")'),
        Step("9999", 'op.drop_column("executions", "later")'),
    )
    with later_release(tmp_path, *steps):
        assert silent(database, reading) == ["9999"]


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("CREATE TABLE later (later TEXT NOT NULL)", False),
        ("ALTER TABLE executions ADD COLUMN later TEXT", False),
        ("ALTER TABLE executions ADD COLUMN later TEXT NOT NULL DEFAULT ''", False),
        ("ALTER TABLE executions DROP COLUMN score", True),
        ("ALTER TABLE executions RENAME COLUMN score TO place", True),
        ("DROP TABLE results", True),
    ],
)
def test_what_shuts_out_is_seen(statement: str, expected: bool, database: Database, reading: Reading) -> None:
    before = shape_of(database)
    reading.change(statement)
    assert shuts_out(before, shape_of(database)) is expected

"""A step that shuts older releases out has to say so in `compatibility`; one that only adds lets them in."""

from itertools import pairwise
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from ledger_reading import Reading
from sqlalchemy import inspect

from bandmaster.ledger.database import Database
from bandmaster.ledger.schema import upgrading

pytestmark = pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
FIRST = "0009"
"""The first step whose release asks."""

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


def test_each_step_that_shuts_out_older_releases_says_so(database: Database, reading: Reading) -> None:
    steps = ScriptDirectory(str(Path(upgrading.__file__).parent / "migrations")).walk_revisions()
    later = [revision for step in steps if (revision := step.revision) >= FIRST][::-1]
    assert later[0] == FIRST
    upgrading.downgrade(database, FIRST)
    for _, revision in pairwise(later):
        shape, said = shape_of(database), reading.one("SELECT compatible_from FROM compatibility")
        upgrading.upgrade(database, revision)
        if shuts_out(shape, shape_of(database)):
            assert reading.one("SELECT compatible_from FROM compatibility") > said, revision


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

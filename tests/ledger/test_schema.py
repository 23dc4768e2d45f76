"""The steps of the schema lead to the tables that the code knows, forth and back, with data in them."""

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from databases import ALL_IN_CHECK
from ledger_reading import Reading, catch_up
from sqlalchemy import text
from steps import Step, later_release

from bandmaster.configs.errors import SettingsError
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import SchemaMismatch
from bandmaster.ledger.schema.revisions import MIGRATIONS, check, known, newest, revision_of
from bandmaster.ledger.schema.tables import metadata
from bandmaster.ledger.schema.upgrading import downgrade, upgrade
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

EVERY_KIND = pytest.mark.parametrize("database_kind", ALL_IN_CHECK, indirect=True)


@EVERY_KIND
def test_the_steps_make_the_tables_that_the_code_knows(database: Database) -> None:
    with database.reading() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
        assert revision_of(connection) == newest()


def test_the_revisions_are_those_that_alembic_would_go_through() -> None:
    steps = ScriptDirectory(str(MIGRATIONS)).walk_revisions()
    assert tuple(step.revision for step in steps) == known()[::-1]


@EVERY_KIND
@pytest.mark.parametrize(
    "joined",
    [
        *(f"{table}.execution_id = executions.execution_id" for table in ("payloads", "results", "transitions")),
        "holds.execution_id = executions.execution_id",
        "executions.action = action.ref",
    ],
)
def test_rows_of_two_tables_are_joined_by_an_index(database: Database, joined: str) -> None:
    """Also on PostgreSQL, which compares texts of two collations without one."""
    sought, known = (side.split(".")[0] for side in joined.split(" = "))
    query = f"SELECT {sought}.* FROM {known} LEFT JOIN {sought} ON {joined}"
    with database.reading() as connection:
        if database.is_sqlite:
            plan = connection.execute(text(f"EXPLAIN QUERY PLAN {query}")).all()
            by_index = [row for row in plan if f"SEARCH {sought} USING" in row[-1]]
        else:
            for kind in ("hashjoin", "mergejoin", "seqscan", "bitmapscan"):
                connection.execute(text(f"SET LOCAL enable_{kind} = off"))
            plan = connection.execute(text(f"EXPLAIN {query}")).all()
            by_index = [row for row in plan if "Index Cond" in row[-1]]
    assert by_index, plan


@EVERY_KIND
def test_a_filled_ledger_goes_back_and_forth(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading
) -> None:
    queue.enqueue(ExecutionRequestedEvent(execution_id="a", command=("true",)))
    catch_up(consumer)
    downgrade(database, "base")
    with database.reading() as connection:
        assert revision_of(connection) is None
        with pytest.raises(SchemaMismatch, match="has no tables yet, and this release needs revision"):
            check(connection)
    assert upgrade(database) == newest()
    assert upgrade(database) == newest(), "an upgrade of what is new changes nothing"
    assert reading.one("SELECT count(*) FROM executions") == 0


@EVERY_KIND
def test_each_step_keeps_what_a_ledger_has(
    queue: ExecutionQueueService, consumer: Consumer, database: Database, reading: Reading, tmp_path: Path
) -> None:
    """Down to each earlier revision and up again: the rows of the tables are the same, also where one is made anew."""
    for number in range(30):
        queue.enqueue(ExecutionRequestedEvent(execution_id=f"e-{number}", action=f"a-{number % 3}", command=("true",)))
    while granted := queue.try_schedule():
        queue.release(granted[0])
    queue.controls.set_limit("gpu", 2)
    catch_up(consumer)
    kept = ("executions", "transitions", "changes", "holds", "queue_stats", "action")
    rows = {table: _sorted(reading, table) for table in kept}
    assert all(rows.values())
    step = Step(
        "9999",
        'op.add_column("executions", sa.Column("later", sa.Text, nullable=False, server_default=""))',
        'with op.batch_alter_table("executions") as batch: batch.drop_column("later")',
    )
    with later_release(tmp_path, step):
        upgrade(database)
        assert reading.one("SELECT count(*) FROM executions WHERE later = ''") == 30
        for revision in known()[-2::-1]:
            downgrade(database, revision)
            for table in kept:
                assert reading.one(f"SELECT count(*) FROM {table}") == len(rows[table]), (revision, table)
            upgrade(database)
        downgrade(database, known()[-2])
    assert {table: _sorted(reading, table) for table in kept} == rows


def _sorted(reading: Reading, table: str) -> list[list[str]]:
    rows = reading.rows(f"SELECT * FROM {table}")
    return sorted(sorted(f"{name}={value}" for name, value in row.items()) for row in rows)


@pytest.mark.parametrize("url", ["", "ledger.sqlite3", "mysql://host/database", "redis://localhost"])
def test_a_url_of_another_kind_is_refused(url: str) -> None:
    with pytest.raises(SettingsError, match=r"ledger\.url: it must be a URL like sqlite:///"):
        Database(url)


def test_a_password_is_not_shown(tmp_path: Path) -> None:
    shown = Database("postgresql://bm:secret@nowhere.invalid/ledger").shown_url
    assert "secret" not in shown
    assert "bm:***@nowhere.invalid" in shown
    for url in (
        "postgresql://nowhere.invalid/ledger?user=bm&password=secret",
        "postgresql:///ledger?host=nowhere.invalid&PASSWORD=secret&sslpassword=secret",
        "postgresql://bm:secret@nowhere.invalid/ledger?pass%77ord=secret",
    ):
        assert "secret" not in Database(url).shown_url
        assert "nowhere.invalid" in Database(url).shown_url

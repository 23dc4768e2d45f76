"""Tables that a later release has made: they say from which revision on a release may use them."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from ledger_process import Attempt, send, stands
from ledger_reading import Reading, catch_up
from sqlalchemy import text
from steps import Step, later_release

from bandmaster.configs.settings import Settings
from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.errors import SchemaMismatch
from bandmaster.ledger.queries.asking import Asking
from bandmaster.ledger.readying import open_ledger
from bandmaster.ledger.schema.revisions import known, newest
from bandmaster.ledger.schema.tables import metadata
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.queue import ExecutionQueueService

LATER = "9999"


def upgraded_later(database: Database, *, compatible_from: str) -> None:
    """What a later release does that only adds: here a column to each table, and a table."""
    with database.writing() as connection:
        for table in metadata.tables:
            connection.execute(text(f"ALTER TABLE {table} ADD COLUMN later TEXT NOT NULL DEFAULT ''"))
        connection.execute(text("CREATE TABLE later (later TEXT)"))
        connection.execute(text("UPDATE compatibility SET compatible_from = :it"), {"it": compatible_from})
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": LATER})


def settings_for(url: str) -> Settings:
    return Settings.model_validate({"ledger": {"url": url}})


def test_tables_that_only_grew_are_written_and_read_on(
    queue: ExecutionQueueService,
    consumer: Consumer,
    database: Database,
    ledger_url: str,
    reading: Reading,
) -> None:
    """By what runs, and by what starts, as when a pod of the older release comes again during a rolling upgrade."""
    send(queue, 0, 2)
    assert catch_up(consumer)
    upgraded_later(database, compatible_from=newest())
    send(queue, 2, 2)
    assert catch_up(consumer)
    with closing(open_ledger(settings_for(ledger_url))) as opened:
        next_one = Consumer(queue, Book(opened, queue="exec_queue", holder="this test"))
        assert next_one.begin()
        while granted := queue.try_schedule():
            queue.release(granted[0])
        assert catch_up(next_one)
        assert upgrade(opened) == LATER, "nothing is left to do"
    assert reading.one("SELECT count(*) FROM executions WHERE state = 'COMPLETED' AND later = ''") == 4
    assert reading.one("SELECT version_num FROM alembic_version") == LATER
    assert Asking(database, queue="exec_queue").is_written()
    assert (stands(database).revision, stands(database).executions) == (LATER, 4)


def test_tables_that_lack_what_this_release_needs_are_refused(
    database: Database, ledger_url: str, reading: Reading
) -> None:
    upgraded_later(database, compatible_from="9998")
    with pytest.raises(SchemaMismatch, match="is at revision 9999, and this release needs revision"):
        open_ledger(settings_for(ledger_url))
    for refused in (
        lambda: upgrade(database),
        lambda: stands(database),
        Asking(database, queue="exec_queue").is_written,
    ):
        with pytest.raises(SchemaMismatch):
            refused()
    assert reading.one("SELECT version_num FROM alembic_version") == LATER


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
def test_the_commands_look_for_it_as_well(
    consumer: Consumer, database: Database, reading: Reading, attempt: Attempt, command: Callable[..., Any]
) -> None:
    upgraded_later(database, compatible_from=newest())
    assert command()["revision"] == command("upgrade")["revision"] == LATER
    reading.change("UPDATE compatibility SET compatible_from = '9998'")
    told = attempt()
    assert (told.code, "use the release that wrote it if that is newer" in told.err) == (2, True), told.err


def test_who_reads_finds_out_once_something_fails(database: Database, consumer: Consumer) -> None:
    """What a contracting step takes away fails a query of the older release; it then says why."""
    asking = Asking(database, queue="exec_queue")
    assert asking.is_written()
    upgraded_later(database, compatible_from="9998")
    with pytest.raises(Exception, match="gone"), asking.reading() as connection:
        connection.execute(text("SELECT gone FROM executions"))
    with pytest.raises(SchemaMismatch), asking.reading():
        pass


def test_a_step_that_only_adds_leaves_older_releases_in(database: Database, reading: Reading, tmp_path: Path) -> None:
    older = newest()
    adds = Step(LATER, 'op.create_table("later", sa.Column("later", sa.Text))', 'op.drop_table("later")')
    with later_release(tmp_path, adds):
        with pytest.raises(SchemaMismatch, match=f"is at revision {older}, and this release needs revision {LATER}"):
            stands(database)
        assert upgrade(database) == newest() == LATER
    assert reading.rows("SELECT * FROM compatibility") == [{"compatibility_id": 1, "compatible_from": known()[0]}]
    assert (upgrade(database), stands(database).revision, newest()) == (LATER, LATER, older)

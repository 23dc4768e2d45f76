"""Brings a database's tables to the schema of this release, step by step, and says which schema they have.

In the flow: ``bandmaster ledger upgrade``, and the ledger process at its start on SQLite; whoever reads or writes them
asks first whether it may. All steps of one upgrade are one transaction: if the process dies, nothing has changed. Two
upgrades at once wait for each other: SQLite has one writer at a time, and on PostgreSQL each takes an advisory lock.

While a newer release is rolled out, processes of the older one go on with tables that the newer one has upgraded. Those
tell from which revision on a release may use them: a step that only adds leaves that as it is, one that takes something
away raises it.
"""

from functools import cache
from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, select, text

from ..database import Database
from ..errors import SchemaMismatch
from .tables import compatibility

_LOCK: Final = 0x62616E646D6173  # any number that no other program takes: the bytes of "bandmas"


def newest() -> str:
    """The revision of this release."""
    return _known()[0]


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables; None if there are none."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(database: Database, to: str = "head") -> str:
    """Bring the tables to a revision; those of a newer release that this one may use stay as they are.

    Args:
        database: The database.
        to: The revision; by default that of this release.

    Returns:
        The revision that they have now.

    Raises:
        SchemaMismatch: If they are of a newer release, and not for this one. Nothing was changed.
        LedgerUnavailable: If the database does not answer.
    """
    with database.writing() as connection:
        _lock(connection)
        check(connection, older_is_right=True)
        if not _is_newer(revision_of(connection)):
            command.upgrade(_config(connection), to)
        return revision_of(connection) or ""


def downgrade(database: Database, to: str) -> None:
    """Bring the tables back to an earlier revision; ``base`` removes them. What only they held is lost."""
    with database.writing() as connection:
        _lock(connection)
        command.downgrade(_config(connection), to)


def check(connection: Connection, *, older_is_right: bool = False) -> None:
    """Refuse tables that this release may not use: its own it may, and newer ones that say so.

    Raises:
        SchemaMismatch: If they are of a newer release, and not for this one, or, unless `older_is_right`, of an
            earlier one.
    """
    found = revision_of(connection)
    if _is_newer(found):
        may_use = connection.execute(select(compatibility.c.compatible_from)).scalar_one_or_none() in _known()
    else:
        may_use = older_is_right or found == newest()
    if not may_use:
        raise SchemaMismatch(found, newest())


def _is_newer(revision: str | None) -> bool:
    return revision is not None and revision not in _known()


@cache
def _known() -> tuple[str, ...]:
    """The revisions that lead to that of this release, which is the first."""
    return tuple(step.revision for step in ScriptDirectory.from_config(_config(None)).walk_revisions())


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

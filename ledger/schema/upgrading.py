"""Brings a database's tables to the schema of this release, step by step, and says which schema they have.

In the flow: ``bandmaster ledger upgrade``, and the ledger process at its start on SQLite. All steps of one upgrade are
one transaction: if the process dies, nothing has changed. Two upgrades at once wait for each other: SQLite has one
writer at a time, and on PostgreSQL each takes an advisory lock.
"""

from pathlib import Path
from typing import Final

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, text

from ..database import Database
from ..errors import SchemaMismatch

_LOCK: Final = 0x62616E646D6173  # any number that no other program takes: the bytes of "bandmas"


def newest() -> str:
    """The revision of this release."""
    head = _steps(None).get_current_head()
    assert head is not None
    return head


def revision_of(connection: Connection) -> str | None:
    """The revision of a database's tables; None if there are none."""
    return MigrationContext.configure(connection).get_current_revision()


def upgrade(database: Database, to: str = "head") -> str:
    """Bring the tables to a revision.

    Args:
        database: The database.
        to: The revision; by default that of this release.

    Returns:
        The revision that they have now.

    Raises:
        SchemaMismatch: If they are of a newer release. Nothing was changed.
        LedgerUnavailable: If the database does not answer.
    """
    with database.writing() as connection:
        _lock(connection)
        check(connection, older_is_right=True)
        command.upgrade(_config(connection), to)
        return revision_of(connection) or ""


def downgrade(database: Database, to: str) -> None:
    """Bring the tables back to an earlier revision; ``base`` removes them. What only they held is lost."""
    with database.writing() as connection:
        _lock(connection)
        command.downgrade(_config(connection), to)


def check(connection: Connection, *, older_is_right: bool = False) -> None:
    """Refuse tables of another release.

    Raises:
        SchemaMismatch: If they are of another release, or, unless `older_is_right`, of an earlier one.
    """
    found = revision_of(connection)
    known = {step.revision for step in _steps(None).walk_revisions()}
    if found == newest() or (older_is_right and (found is None or found in known)):
        return
    raise SchemaMismatch(found, newest())


def _config(connection: Connection | None) -> Config:
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    return config


def _steps(connection: Connection | None) -> ScriptDirectory:
    return ScriptDirectory.from_config(_config(connection))


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

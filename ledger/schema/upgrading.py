"""Brings a database's tables to the schema of this release, step by step.

In the flow: ``bandmaster ledger upgrade``, and the ledger process at its start on SQLite. All steps of one upgrade are
one transaction: if the process dies, nothing has changed. Two upgrades at once wait for each other: SQLite has one
writer at a time, and on PostgreSQL each takes an advisory lock.
"""

from typing import Final

from alembic import command
from alembic.config import Config
from sqlalchemy import Connection, text

from ..database import Database
from .revisions import MIGRATIONS, check, is_newer, revision_of

_LOCK: Final = 0x62616E646D6173  # any number that no other program takes: the bytes of "bandmas"


def upgrade(database: Database, to: str = "head") -> str:
    """Bring the tables to a revision; those of a newer release that this one may use stay as they are.

    Args:
        database: The database.
        to: The revision; by default that of this release.

    Returns:
        The revision that they have now.

    Raises:
        SchemaMismatch: If they are of a newer release, and not for this one, or of before the first. Nothing was
            changed.
        LedgerUnavailable: If the database does not answer.
    """
    with database.writing() as connection:
        _lock(connection)
        check(connection, older_is_right=True)
        if not is_newer(revision_of(connection)):
            command.upgrade(_config(connection), to)
        return revision_of(connection) or ""


def downgrade(database: Database, to: str) -> None:
    """Bring the tables back to an earlier revision; ``base`` removes them. What only they held is lost."""
    with database.writing() as connection:
        _lock(connection)
        command.downgrade(_config(connection), to)


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    return config


def _lock(connection: Connection) -> None:
    if connection.dialect.name == "postgresql":
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})

"""Opens the ledger that the settings name, and refuses tables of another release.

In the flow: the ledger's process and the command line call it at their start.
"""

from ..configs.settings import Settings
from .database import Database
from .errors import SchemaMismatch
from .schema.upgrading import check, newest, upgrade


def database_of(settings: Settings) -> Database:
    """Return the database that the settings name; no connection is made.

    Raises:
        SettingsError: If the URL is none.
        ExtraMissing: If it is PostgreSQL's, and its driver is not installed.
    """
    return Database(settings.ledger.url or f"sqlite:///{settings.paths.ledger_file}")


def existing(settings: Settings) -> Database:
    """Return the same, to be read: SQLite's file is not made by looking for it.

    Raises:
        SchemaMismatch: If it is SQLite's, and there is no such file.
        SettingsError: As above, and ExtraMissing.
    """
    database = database_of(settings)
    if database.file is not None and not database.file.exists():
        raise SchemaMismatch(None, newest())
    return database


def open_ledger(settings: Settings) -> Database:
    """Return the database with the tables of this release: SQLite's are made or upgraded here.

    Raises:
        SettingsError: If the URL is none.
        ExtraMissing: If it is PostgreSQL's, and its driver is not installed.
        LedgerUnavailable: If the database does not answer.
        SchemaMismatch: If its tables are of another release.
    """
    database = database_of(settings)
    if database.is_sqlite:
        upgrade(database)
    else:
        with database.reading() as connection:
            check(connection)
    return database

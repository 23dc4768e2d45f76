"""Opens the ledger that the settings name, and refuses tables of another release.

In the flow: the ledger's process and the command line call it at their start.
"""

from ..configs.settings import Settings
from .database import Database
from .schema.upgrading import check, upgrade


def database_of(settings: Settings) -> Database:
    """Return the database that the settings name; no connection is made.

    Raises:
        SettingsError: If the URL is none.
        ExtraMissing: If it is PostgreSQL's, and its driver is not installed.
    """
    return Database(settings.ledger.url or f"sqlite:///{settings.paths.absolute / 'ledger.sqlite3'}")


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

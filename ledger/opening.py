"""Opens the ledger that the settings name, to be read.

In the flow: the API and the command line call it.
"""

from ..configs.settings import Settings
from .database import Database
from .errors import LedgerMissing


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
        LedgerMissing: If it is SQLite's, and there is no such file.
        SettingsError: As above, and ExtraMissing.
    """
    database = database_of(settings)
    if database.file is not None and not database.file.exists():
        raise LedgerMissing(database.file)
    return database

"""Opens the ledger to write it, with tables that this release may use: SQLite's are made or upgraded here.

In the flow: the ledger's process calls it at its start, and the command that makes tokens.
"""

import time
from typing import Final

from ..configs.logger import Logger
from ..configs.settings import Settings
from .database import Database
from .errors import LedgerError, LedgerUnavailable
from .opening import database_of
from .schema.revisions import check
from .schema.upgrading import upgrade

_log: Final = Logger("bandmaster.ledger")
_LOOK_SECONDS: Final = 1.0


def open_ledger(settings: Settings) -> Database:
    """Return the database with tables that this release may use: SQLite's are made or upgraded here.

    Raises:
        SettingsError: If the URL is none.
        ExtraMissing: If it is PostgreSQL's, and its driver is not installed.
        LedgerUnavailable: If the database does not answer.
        SchemaMismatch: If its tables are of another release that this one may not use.
    """
    database = database_of(settings)
    try:
        if database.is_sqlite:
            upgrade(database)
        else:
            with database.reading() as connection:
                check(connection)
    except LedgerError:
        database.close()
        raise
    return database


def opened_within(settings: Settings, wait_seconds: float) -> Database:
    """Return the same, once the database answers: it may be slower to start than this process.

    Args:
        settings: All of them.
        wait_seconds: How long to wait for it.

    Raises:
        LedgerUnavailable: If it does not answer in time; else as `open_ledger`.
    """
    until = time.monotonic() + wait_seconds
    while True:
        try:
            return open_ledger(settings)
        except LedgerUnavailable as error:
            if time.monotonic() >= until:
                raise
            _log.warning("database_awaited", error=str(error), wait_seconds=wait_seconds)
            # Nothing tells when a database is back. The caller lets signals end the process meanwhile.
            time.sleep(_LOOK_SECONDS)

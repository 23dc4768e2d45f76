"""``Asking``: reads the ledger for many callers at once, without letting a database that hangs hold up all of them.

In the flow: every query goes through `reading()`. So many read at once, the next waits a moment for its turn, and is
then told that the ledger does not answer: whoever needs no history goes on meanwhile. That this release may
use the tables, and the ledger is that of this queue, is checked by the first use, and again after any that failed: what
a newer release has taken away meanwhile fails once, and is told then.
"""

import math
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from threading import BoundedSemaphore, Thread
from typing import Final, TypeVar

from sqlalchemy import Connection

from ..database import CONNECTIONS, Database
from ..errors import LedgerError, LedgerUnavailable
from ..schema.revisions import check
from ..standing import Progress, check_queue, failing_triggers, is_written, late_notifications, read_up_to
from ..unrestored import unrestored

READS_AT_ONCE: Final = CONNECTIONS
TURN_SECONDS: Final = 1.0
READ_SECONDS: Final = 30
"""A query that takes longer is ended, on PostgreSQL."""
SOON_SECONDS: Final = 2.0
LOOK_SECONDS: Final = 1.0
"""How often a ledger that nobody has written yet is looked at: it may have become that of another queue."""
T = TypeVar("T")


class Asking:
    """Reads one ledger. Safe to share between threads."""

    def __init__(self, database: Database, *, queue: str) -> None:
        """Makes no connection.

        Args:
            database: The database.
            queue: The prefix of the queue's keys.
        """
        self.database = database
        self._queue = queue
        self._turns = BoundedSemaphore(READS_AT_ONCE)
        self._check_at = 0.0

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """One transaction that reads, the ledger as it was at its beginning.

        Raises:
            LedgerUnavailable: If the database does not answer, or others wait for it already.
            SchemaMismatch: If its tables are of another release.
            AnotherQueue: If the ledger is that of another queue.
            LedgerRefused: If it will not do it.
        """
        with self._turn(), self._checked(self.database.reading()) as connection:
            if not self.database.is_sqlite:
                connection.exec_driver_sql(f"SET LOCAL statement_timeout = {READ_SECONDS * 1000}")
            yield connection

    def is_written(self) -> bool:
        """Find out whether it can be read, and whether somebody writes it.

        Raises:
            LedgerError: As `reading` says.
        """
        with self.reading() as connection:
            return check_queue(connection, self._queue) and is_written(connection)

    def progress(self) -> Progress:
        """Find out how far it has come.

        Raises:
            LedgerError: As `reading` says.
        """
        with self.reading() as connection:
            if not check_queue(connection, self._queue):
                return Progress(is_written=False, position=None)
            return Progress(
                is_written(connection),
                read_up_to(connection),
                failing_triggers(connection),
                late_notifications(connection),
                unrestored(connection),
            )

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """One transaction that writes beside the consumer, in tables that it does not write.

        Raises:
            LedgerError: As `reading` says.
        """
        with self._turn(), self._checked(self.database.writing()) as connection:
            yield connection

    def soon(self, read: Callable[[], T]) -> T:
        """Run a read on which more depends than its own answer: a database that hangs is not waited for.

        Raises:
            LedgerError: As the read does, and if it has not ended within `SOON_SECONDS`; it goes on, and is not heard.
        """
        said: Future[T] = Future()

        def run() -> None:
            try:
                said.set_result(read())
            except Exception as error:  # noqa: BLE001  # whatever it is, its caller gets it
                said.set_exception(error)

        # Of its own, and not of a pool: one that hangs must not hold up the end of the process.
        Thread(target=run, name="ledger-soon", daemon=True).start()
        try:
            return said.result(SOON_SECONDS)
        except TimeoutError:
            raise LedgerUnavailable(f"no answer within {SOON_SECONDS:g} s", url=self.database.shown_url) from None

    @contextmanager
    def _turn(self) -> Generator[None]:
        if not self._turns.acquire(timeout=TURN_SECONDS):
            raise LedgerUnavailable("too many wait for it already", url=self.database.shown_url)
        try:
            yield
        finally:
            self._turns.release()

    @contextmanager
    def _checked(self, opened: AbstractContextManager[Connection]) -> Generator[Connection]:
        # Asking must not make SQLite's file.
        if self.database.file is not None and not self.database.file.exists():
            raise LedgerUnavailable("there is no such file yet", url=self.database.shown_url)
        try:
            with opened as connection:
                if time.monotonic() >= self._check_at:
                    check(connection)
                    # Before there was a consumer it is nobody's ledger.
                    is_ours = check_queue(connection, self._queue)
                    self._check_at = math.inf if is_ours else time.monotonic() + LOOK_SECONDS
                yield connection
        except LedgerError:
            self._check_at = 0.0
            raise

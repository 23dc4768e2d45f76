"""``Store``: transactions on queues and items, one writer at a time in a process where the database is SQLite.

In the flow: all of `items` reads and writes here. SQLite has one writer at a time; threads of one process take turns by
a lock of their own, and what another process holds is waited for, so that nobody is told that the database is locked. A
transaction that the database broke off because of another one is begun anew. If the process dies, the database rolls
back what was not committed; if the answer to a commit was lost, whoever asks again finds out by its key.
"""

import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeVar

from sqlalchemy import Connection, select

from ..ledger.database import now_ms
from ..ledger.errors import LedgerUnavailable
from ..ledger.queries.asking import Asking

TRIES: Final = 5
PAUSE_SECONDS: Final = 0.05
TURN_SECONDS: Final = 20.0
"""How long a thread waits for the others of its process: twice as long as SQLite waits for other processes."""
_AGAIN: Final = ("database is locked", "database table is locked", "deadlock detected", "could not serialize")
T = TypeVar("T")
_LOCKS: Final[dict[str, threading.Lock]] = {}
_LOCKS_LOCK: Final = threading.Lock()


class Store:
    """The queues and items of one ledger. Safe to share between threads."""

    def __init__(self, asking: Asking) -> None:
        """Makes no connection."""
        self.asking = asking
        self.is_sqlite = asking.database.is_sqlite
        self._lock: threading.Lock | None = None
        if asking.database.file is not None:
            # One for all that this process opens of a file.
            with _LOCKS_LOCK:
                self._lock = _LOCKS.setdefault(str(asking.database.file.absolute()), threading.Lock())

    def write(self, work: Callable[[Connection], T]) -> T:
        """Run something in one transaction that writes; again, if another transaction broke it off.

        Args:
            work: Is given the connection. It may be called several times.

        Raises:
            LedgerError: If the database does not answer, or refuses.
        """
        tried = 0
        while True:
            tried += 1
            try:
                with self._turn(), self.asking.writing() as connection:
                    return work(connection)
            except LedgerUnavailable as error:
                if tried >= TRIES or not any(each in str(error) for each in _AGAIN):
                    raise
            time.sleep(PAUSE_SECONDS * tried)

    def read(self, work: Callable[[Connection], T]) -> T:
        """Run something in one transaction that reads.

        Raises:
            LedgerError: If the database does not answer, or refuses.
        """
        with self.asking.reading() as connection:
            return work(connection)

    @contextmanager
    def _turn(self) -> Generator[None]:
        if self._lock is None:
            yield
            return
        if not self._lock.acquire(timeout=TURN_SECONDS):
            raise LedgerUnavailable("too many wait to write", url=self.asking.database.shown_url)
        try:
            yield
        finally:
            self._lock.release()


def now_of(connection: Connection) -> int:
    """Return the database's time, in Unix milliseconds."""
    return connection.execute(select(now_ms())).scalar_one()

"""``Database``: one SQL database, SQLite or PostgreSQL, and its errors as those of the ledger.

In the flow: every part of the ledger goes through `writing()` or `reading()`, one transaction each. Work never waits
for it: if the database is away, the consumer stands still and everything else goes on. A transaction that was not
committed when the process died is rolled back by the database.
"""

import math
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from sqlalchemy import (
    URL,
    BigInteger,
    Connection,
    Engine,
    create_engine,
    event,
    make_url,
)
from sqlalchemy.exc import (
    ArgumentError,
    DataError,
    DBAPIError,
    IntegrityError,
    InvalidatePoolError,
    NoSuchModuleError,
    ProgrammingError,
    TimeoutError,
)
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from ..configs.errors import ExtraMissing, SettingsError
from ..configs.extras import import_extra
from ..configs.redaction import redacted_url
from .errors import LedgerRefused, LedgerUnavailable, RowsRefused, RowsTaken
from .reasons import is_taken, said_by, told_of

_BUSY_SECONDS: Final = 10
_CONNECT_SECONDS: Final = 5
CONNECTIONS: Final = 8
"""So many to PostgreSQL a process keeps, once it has opened them."""
_FRESH_SECONDS: Final = 0.5
"""A connection that was used so short a time ago is used again without asking whether it lives: in a busy process that
would be a fifth of all that it sends."""
_USED_AT: Final = "used_at"
_WRITES: Final = "bandmaster_writes"
_DRIVERS: Final = {"sqlite": "sqlite+pysqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


class now_ms(FunctionElement[int]):
    """The database's clock in Unix milliseconds."""

    type = BigInteger()
    inherit_cache = True


@compiles(now_ms, "postgresql")
def _on_postgresql(*_: Any, **__: Any) -> str:
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)"


@compiles(now_ms, "sqlite")
def _on_sqlite(*_: Any, **__: Any) -> str:
    return "CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)"


class Database:
    """Opens connections as they are needed. Safe to share between threads."""

    def __init__(self, url: str) -> None:
        """Makes no connection.

        Args:
            url: ``sqlite:///path/to/file``, or ``postgresql://user:password@host/database``.

        Raises:
            SettingsError: If it is not such a URL.
            ExtraMissing: If it is PostgreSQL's, and its driver is not installed.
        """
        self._url = _checked(url)
        self.is_sqlite = self._url.get_backend_name() == "sqlite"
        self.file: Final = _file_of(self._url)
        """SQLite's file; None: there is none."""
        try:
            self._engine = create_engine(self._url, **_options(self._url))
        except ModuleNotFoundError as error:
            raise ExtraMissing("psycopg", "postgres") from error
        self._is_closed = False
        self._opened: tuple[int, int] | None = None
        """Which file of SQLite's was opened."""
        event.listen(self._engine, "checkin", self._returned)
        if self.is_sqlite:
            _let_us_begin(self._engine)
        else:
            _notice_hangs(self._engine)
            _ping_idle(self._engine)

    @property
    def shown_url(self) -> str:
        """The URL without its password, wherever it stands: libpq takes it as a parameter, too."""
        shown = self._url.render_as_string(hide_password=True)
        return shown if self.is_sqlite else redacted_url(shown)

    @contextmanager
    def writing(self) -> Generator[Connection]:
        """One transaction that writes: committed at the end, rolled back if an exception leaves it.

        Raises:
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it will not do it; RowsRefused, because of the rows, and RowsTaken, because of others.
        """
        if self.file is not None and self._opened is None and not self.file.exists():
            _make_private(self.file)
        self._check_file()
        with self._translated(), self._engine.connect() as connection:
            if self.is_sqlite:
                connection = connection.execution_options(**{_WRITES: True})
            with connection.begin():
                yield connection

    @contextmanager
    def overwriting(self) -> Generator[Connection]:
        """As `writing`; SQLite overwrites what the transaction deletes or changes. PostgreSQL's vacuum does."""
        with self.writing() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("PRAGMA secure_delete = ON")
            yield connection

    @contextmanager
    def reading(self) -> Generator[Connection]:
        """One transaction that reads: all its queries see the same state.

        Raises:
            LedgerUnavailable: If the database does not answer.
            LedgerRefused: If it will not do it.
        """
        self._check_file()
        with self._translated(), self._engine.connect() as connection:
            if not self.is_sqlite:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close all connections; those that another thread uses, when it is done."""
        self._is_closed = True
        self._engine.dispose()

    def _check_file(self) -> None:
        """Refuse a file that was deleted while it was open: what is written there is lost with the process."""
        if self.file is None:
            return
        found = _identity_of(self.file)
        if self._opened is None or found == self._opened:
            self._opened = found
            return
        if found is not None:
            # Another one, such as a copy that was brought back: it is opened by whoever asks next.
            self._opened = found
            self._engine.dispose()
        what = "deleted" if found is None else "replaced"
        raise LedgerUnavailable(f"its file was {what} while it was open", url=self.shown_url)

    def _returned(self, connection: Any, _: Any) -> None:
        # The pool that it comes back to is gone: nobody else would close it.
        if self._is_closed and connection is not None:
            connection.close()

    @contextmanager
    def _translated(self) -> Generator[None]:
        try:
            yield
        except (DataError, IntegrityError) as error:
            kind = RowsTaken if is_taken(error) else RowsRefused
            raise kind(said_by(error), url=self.shown_url, told=told_of(error)) from error
        except OverflowError as error:  # SQLite's driver says so by itself
            raise RowsRefused(str(error), url=self.shown_url, told="a number is out of range") from error
        except ProgrammingError as error:
            raise LedgerRefused(said_by(error), url=self.shown_url, told=told_of(error)) from error
        except DBAPIError as error:
            # Also a standby that only reads, and a full disk: another server may take over, or somebody makes room.
            raise LedgerUnavailable(said_by(error), url=self.shown_url, told=told_of(error)) from error
        except TimeoutError as error:
            why = f"all connections of this process are in use, and none was free for {_BUSY_SECONDS} s"
            raise LedgerUnavailable(why, url=self.shown_url) from error


def _checked(text: str) -> URL:
    try:
        url = make_url(text)
        driver = _DRIVERS[url.get_backend_name()]
    except (ArgumentError, KeyError, NoSuchModuleError):
        raise SettingsError(
            "ledger.url: it must be a URL like sqlite:///var/ledger.sqlite3 or postgresql://user:password@host/database"
        ) from None
    return url.set(drivername=driver)


def _file_of(url: URL) -> Path | None:
    if url.get_backend_name() != "sqlite" or not url.database or url.database == ":memory:":
        return None
    return Path(url.database)


def _identity_of(file: Path) -> tuple[int, int] | None:
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(file: Path) -> None:
    """Make an empty file that only its owner may read, since payloads may be secret; SQLite's others follow it."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
    except OSError as error:
        why = f"{error.filename or file}: {error.strerror or error}"
        raise LedgerUnavailable(why, url=f"sqlite:///{file}", told="its file cannot be made") from error


def _options(url: URL) -> dict[str, Any]:
    if url.get_backend_name() == "sqlite":
        return {"connect_args": {"timeout": _BUSY_SECONDS}, "pool_timeout": _BUSY_SECONDS}
    return {
        "pool_timeout": _BUSY_SECONDS,
        # As many as are used at once: one that is opened for each use costs more than what it is used for.
        "pool_size": CONNECTIONS,
        "connect_args": {
            "connect_timeout": _CONNECT_SECONDS,
            "application_name": "bandmaster-ledger",
            # A server that is gone without a word is noticed within half a minute, and not after hours.
            "keepalives_idle": 10,
            "keepalives_interval": 5,
            "keepalives_count": 3,
            "tcp_user_timeout": 20_000,
        },
    }


def _notice_hangs(engine: Engine) -> None:
    connections = import_extra("bandmaster.ledger.answering", "postgres").AnsweringConnection

    def connect(_: Any, __: Any, arguments: Any, named: Any) -> Any:
        return connections.opened(*arguments, **named)

    event.listen(engine, "do_connect", connect)


def _ping_idle(engine: Engine) -> None:
    """Ask a connection that nobody has used for a moment whether it lives: its server may have been started anew."""

    def returned(_: Any, record: Any) -> None:
        record.info[_USED_AT] = time.monotonic()

    def taken(connection: Any, record: Any, _: Any) -> None:
        # A new one has not been used yet: it was opened just now.
        if time.monotonic() - record.info.get(_USED_AT, math.inf) < _FRESH_SECONDS:
            return
        try:
            engine.dialect.do_ping(connection)
        except engine.dialect.loaded_dbapi.Error as error:
            # The others are of the same server.
            raise InvalidatePoolError from error

    event.listen(engine, "checkin", returned)
    event.listen(engine, "checkout", taken)


def _let_us_begin(engine: Engine) -> None:
    """Begin SQLite's transactions ourselves: its driver begins too late, and a read that turns into a write fails."""

    def connected(connection: Any, _: Any) -> None:
        connection.isolation_level = None
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.execute("PRAGMA foreign_keys=ON")
        cursor.close()

    def begun(connection: Connection) -> None:
        writes = connection.get_execution_options().get(_WRITES, False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    event.listen(engine, "connect", connected)
    event.listen(engine, "begin", begun)

"""Why a database did not do something, in one line: for the log, and what of it may be shown to everybody.

In the flow: `database.py` makes the ledger's errors of these. What a driver says may have the values of a row, which
are what users sent, and the database's address. So of what the database said itself, only the kinds of messages are
shown that have neither; of the others, the kind alone. Nothing here does I/O.
"""

import sqlite3
from typing import Final

from sqlalchemy.exc import DBAPIError

_WITHOUT_VALUES: Final = frozenset({"08", "25", "40", "42", "53", "54", "55", "57", "58", "XX"})
"""Classes of PostgreSQL's SQLSTATE: of connections, transactions, rights and names, resources, limits, objects in use,
operators, the system. Values of rows are in those of data and constraints, and in what triggers raise."""
_OF_SQLITE: Final = frozenset({sqlite3.OperationalError, sqlite3.DatabaseError})
"""Its texts of a disk, a file or a lock are fixed."""
_TAKEN: Final = "23505"
"""PostgreSQL's SQLSTATE of a value that only one row may have."""
_TAKEN_OF_SQLITE: Final = frozenset({sqlite3.SQLITE_CONSTRAINT_UNIQUE, sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY})
_LONGEST: Final = 160


def said_by(error: DBAPIError) -> str:
    """What the driver said, for the log."""
    said = str(error.orig).strip().splitlines()
    return said[0] if said else type(error.orig).__name__


def is_taken(error: DBAPIError) -> bool:
    """Whether another row has a value already that only one may have."""
    code = getattr(error.orig, "sqlite_errorcode", None)
    return code in _TAKEN_OF_SQLITE or getattr(error.orig, "sqlstate", None) == _TAKEN


def told_of(error: DBAPIError) -> str:
    """What may be shown to everybody."""
    orig = error.orig
    if type(orig) in _OF_SQLITE:
        return _line(str(orig))
    state: str | None = getattr(orig, "sqlstate", None)
    if state is None:
        return "its database does not answer"
    if state[:2] in _WITHOUT_VALUES:
        return _line(said_by(error))
    return f"its database refuses ({type(orig).__name__})"


def _line(text: str) -> str:
    line = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"

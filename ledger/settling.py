"""``Settle``: is told of executions as their rows are written, in the same transaction.

In the flow: `book.py` and `reconciling.py` call it; whoever starts the process says what it is. So what knows the
ledger can act on ends, and the ledger does not know it. What it raises breaks the transaction off, and the
page is read again.
"""

from collections.abc import Callable, Iterable
from typing import Final

from sqlalchemy import Connection

from .executions import Execution

LOST: Final = "LOST"
"""The state of a firing of a trigger whose items went back because nobody knew its execution any more."""
Settle = Callable[[Connection, Iterable[Execution]], None]


def settle_nothing(_connection: Connection, _changed: Iterable[Execution]) -> None:
    """Nobody is told."""

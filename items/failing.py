"""What becomes of a trigger whose firings fail: it backs off, twice as long each time, and says why.

In the flow: `firing` and `sending` write it down in their transactions; the API and the command line show it. What
fails while it backs off already is the same failure. A firing that Redis accepts ends it.
"""

from typing import Final

from sqlalchemy import Connection, select, update

from ..configs.logger import Logger
from ..ledger.errors import LedgerError
from ..ledger.schema.tables import triggers
from ..scheduler.model.errors import BandmasterError
from .bounds import MESSAGE_MAX_CHARS
from .notifying.outbox import note_failing

_log: Final = Logger(__name__)
FIRST_BACKOFF_SECONDS: Final = 5
LAST_BACKOFF_SECONDS: Final = 3_600
_MOST_DOUBLED: Final = 12


def backoff_ms_of(failures: int) -> int:
    """Return for how long a trigger does not fire after so many failures one after the other, in milliseconds."""
    return min(FIRST_BACKOFF_SECONDS * 2 ** min(failures - 1, _MOST_DOUBLED), LAST_BACKOFF_SECONDS) * 1000


def told_of(error: Exception) -> str:
    """Return why a firing failed, for people; what is not ours may have a payload in it, and is for the log, as is what
    the database says, with its URL.
    """
    is_for_people = isinstance(error, BandmasterError) and not isinstance(error, LedgerError)
    return str(error) if is_for_people else f"{type(error).__name__}: the ledger's log says more"


def note_failure(connection: Connection, trigger_id: int, problem: str, at_ms: int) -> int:
    """Write down that a firing failed; those that fail together count once.

    Args:
        connection: Of a transaction that writes.
        trigger_id: Of which trigger; it may be deleted.
        problem: Why, for people; no payload.
        at_ms: The database's time.

    Returns:
        When it is tried again.
    """
    of = triggers.c
    found = connection.execute(
        select(of.name, of.failures, of.backoff_ms, of.notify_url).where(of.trigger_id == trigger_id).with_for_update()
    )
    row = found.one_or_none()
    if row is not None and row.backoff_ms is not None and row.backoff_ms > at_ms:
        return row.backoff_ms
    failures = 1 if row is None else row.failures + 1
    again_ms = at_ms + backoff_ms_of(failures)
    if row is not None:
        failed = update(triggers).where(of.trigger_id == trigger_id)
        connection.execute(
            failed.values(failures=failures, backoff_ms=again_ms, last_error=problem[:MESSAGE_MAX_CHARS])
        )
        if failures == 1 and row.notify_url is not None:
            note_failing(connection, trigger_id, row.name, problem, at_ms)
    name = None if row is None else row.name
    _log.warning("trigger_failed", trigger=name, error=problem, failures=failures, again_ms=again_ms)
    return again_ms


def note_success(connection: Connection, trigger_id: int) -> None:
    """Write down that a firing was accepted."""
    of = triggers.c
    over = update(triggers).where(of.trigger_id == trigger_id, of.failures > 0)
    connection.execute(over.values(failures=0, backoff_ms=None, last_error=None))

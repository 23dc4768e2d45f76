"""What the ledger raises on purpose.

::

    BandmasterError
    └── LedgerError
        ├── LedgerUnavailable   the database did not answer, or could not do it now
        ├── LedgerRefused       the database will not do it: a right or a table is missing
        │   └── RowsRefused     these rows cannot stand, however often it is asked
        │       └── RowsTaken   another row has what only one may have
        ├── AnotherQueue        the ledger is that of another queue
        ├── LedgerMissing       there is no such file
        ├── LedgerEmpty         nothing was ever written into it
        ├── QueueNotEmpty       Redis has work, and was to be rebuilt
        ├── UserHasWork         a user was to be forgotten whose executions have not ended
        ├── UserHasItems        likewise, of items
        ├── UserHasSchedules    likewise, and schedules run as that user
        ├── JournalUnread       no process reads the journal
        ├── SchemaMismatch      its tables are of another release
        │   └── SchemaOfBefore  likewise, of before the first one
        └── NotConsumer         another process consumes the journal
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..scheduler.model.errors import BandmasterError, shown

_TOLD: Final = 5


class LedgerError(BandmasterError):
    """The ledger could not do something that it was asked to do."""


class LedgerUnavailable(LedgerError):
    """The ledger's database does not answer, or refuses."""

    def __init__(self, reason: str, *, url: str, told: str | None = None) -> None:
        """Args: `reason`, what the driver said; `url`, the database, without its password; `told`, what of the reason
        everybody may see, without it all.
        """
        self.told = reason if told is None else told
        if url.startswith("sqlite"):
            super().__init__(f"the ledger's database cannot be used: {reason} (ledger.url: {url})")
        else:
            super().__init__(f"the ledger's database does not answer: {reason}; is it running? (ledger.url: {url})")


class LedgerRefused(LedgerError):
    """The database will not do what it was asked to do: a right or a table is missing."""

    def __init__(self, reason: str, *, url: str, told: str | None = None) -> None:
        """Args: `reason`, what the driver said; `url`, the database, without its password; `told`, as above."""
        self.told = reason if told is None else told
        super().__init__(f"the ledger's database refuses: {reason} (ledger.url: {url})")


class RowsRefused(LedgerRefused):
    """Rows are not what they should be: a value is out of range, is missing, or stands there already."""


class RowsTaken(RowsRefused):
    """Another row has a value already that only one may have."""


class AnotherQueue(LedgerError):
    """A ledger keeps the history of one queue."""

    def __init__(self, found: str, wanted: str) -> None:
        """Args: `found`, the prefix of the ledger's queue; `wanted`, that of this process's queue."""
        super().__init__(
            f"the ledger is that of the queue with the prefix {found!r}, not {wanted!r}: give each queue a database of "
            "its own (ledger.url)"
        )


class LedgerMissing(LedgerError):
    """A ledger was to be read whose file is not there."""

    def __init__(self, file: Path) -> None:
        """Args: `file`, of the ledger's URL, or where it is without one."""
        file = file.absolute()
        missing = f"ledger {str(file)!r}" if file.parent.is_dir() else f"folder {str(file.parent)!r}"
        super().__init__(
            f"there is no {missing}: set ledger.url if it is elsewhere; `python -m bandmaster.ledger` or `bandmaster "
            "ledger upgrade` makes it"
        )


class LedgerEmpty(LedgerError):
    """Redis was to be rebuilt from a ledger into which nothing was ever written."""

    def __init__(self, url: str) -> None:
        """Args: `url`, the database, without its password."""
        super().__init__(f"the ledger is empty: is this the right one? (ledger.url: {url})")


class QueueNotEmpty(LedgerError):
    """Redis has work: whoever rebuilds it has to say that both are to be merged."""

    def __init__(self, executions: int) -> None:
        """Args: `executions`, how many live in Redis."""
        super().__init__(
            f"Redis has {executions:,} executions that have not ended; with --merge, they stay unless the ledger knows "
            "that they have ended"
        )


class UserHasWork(LedgerError):
    """A user was to be forgotten, and executions of it have not ended."""

    def __init__(self, user_id: str, living: int) -> None:
        """Args: `user_id`, the user; `living`, how many have not ended."""
        super().__init__(
            f"{living:,} executions of {shown(user_id)} have not ended: `bandmaster cancel --user USER` cancels them; "
            "then run this again"
        )


class UserHasItems(LedgerError):
    """A user was to be forgotten, and items that it added, or holds as a robot, have not ended."""

    def __init__(self, user_id: str, living: int) -> None:
        """Args: `user_id`, the user; `living`, how many have not ended."""
        super().__init__(
            f"{living:,} items that {shown(user_id)} added or holds have not ended: let robots end them, or delete "
            "them (`bandmaster item delete`); then run this again"
        )


class UserHasSchedules(LedgerError):
    """A user was to be forgotten, and there are schedules that run as that user."""

    def __init__(self, user_id: str, names: Sequence[str]) -> None:
        """Args: `user_id`, the user; `names`, of the schedules."""
        told = ", ".join(names[:_TOLD]) + (f" and {len(names) - _TOLD:,} more" if len(names) > _TOLD else "")
        super().__init__(
            f"{len(names):,} schedules run as {shown(user_id)}: {told}; let them run as somebody else, or remove them "
            "(`bandmaster schedule remove`); then run this again"
        )


class JournalUnread(LedgerError):
    """No process reads the journal into the ledger."""

    def __init__(self, unread: int) -> None:
        """Args: `unread`, how many entries were not read."""
        super().__init__(
            f"{unread:,} entries of the journal are not in the ledger, and nobody reads them: is `python -m "
            "bandmaster.ledger` running?"
        )


class SchemaMismatch(LedgerError):
    """The database's tables are not those of this release."""

    def __init__(self, found: str | None, wanted: str) -> None:
        """Args: `found`, the revision in the database, None for none; `wanted`, the one of this release."""
        self.found, self.wanted = found, wanted
        super().__init__(self._said())

    def _said(self) -> str:
        has = "has no tables yet" if self.found is None else f"is at revision {self.found}"
        return (
            f"the ledger's database {has}, and this release needs revision {self.wanted}: run `bandmaster ledger "
            "upgrade`, or use the release that wrote it if that is newer"
        )


class SchemaOfBefore(SchemaMismatch):
    """The database's tables were made before the first release, and no upgrade leads from there to any."""

    def _said(self) -> str:
        return (
            f"the ledger's database is at revision {self.found}, of before the first release, and no upgrade leads "
            "from there: move SQLite's file away, or name an empty database in ledger.url; then run `bandmaster "
            "ledger upgrade`"
        )


class NotConsumer(LedgerError):
    """Another process has become the consumer of the journal; what this one was about to write was rolled back."""

    def __init__(self) -> None:
        super().__init__("another process consumes the journal now")

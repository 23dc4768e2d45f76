"""What the ledger raises on purpose.

::

    BandmasterError
    └── LedgerError
        ├── LedgerUnavailable   the database did not answer
        ├── SchemaMismatch      its tables are of another release
        └── NotConsumer         another process consumes the journal
"""

from ..scheduler.model.errors import BandmasterError


class LedgerError(BandmasterError):
    """The ledger could not do something that it was asked to do."""


class LedgerUnavailable(LedgerError):
    """The ledger's database does not answer, or refuses."""

    def __init__(self, reason: str, *, url: str) -> None:
        """Args: `reason`, what the driver said; `url`, the database, without its password."""
        super().__init__(f"the ledger's database does not answer: {reason}; is it running? (ledger.url: {url})")


class SchemaMismatch(LedgerError):
    """The database's tables are not those of this release."""

    def __init__(self, found: str | None, wanted: str) -> None:
        """Args: `found`, the revision in the database, None for none; `wanted`, the one of this release."""
        self.found, self.wanted = found, wanted
        has = "has no tables yet" if found is None else f"is at revision {found}"
        super().__init__(
            f"the ledger's database {has}, and this release needs revision {wanted}: run `bandmaster ledger upgrade`, "
            "or use the release that wrote it if that is newer"
        )


class NotConsumer(LedgerError):
    """Another process has become the consumer of the journal; what this one was about to write was rolled back."""

    def __init__(self) -> None:
        super().__init__("another process consumes the journal now")

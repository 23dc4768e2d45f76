"""The settings of the ledger, the history in SQL."""

from collections.abc import Iterable
from typing import Any, Final
from urllib.parse import urlsplit

from pydantic import Field, field_serializer, field_validator

from .area import Area
from .redaction import redacted_url

_SCHEMES: Final = ("sqlite", "postgresql", "postgres")


class LedgerSettings(Area, frozen=True):
    """The SQL database that keeps what happened."""

    url: str | None = None
    """sqlite:///path/to/file or postgresql://user:password@host/database; none: `ledger.sqlite3` under
    `paths.var_dir`."""
    lease_ms: int = Field(default=10_000, ge=1_000)
    """How long a process stays the consumer of the journal without committing anything."""
    keep_payloads: bool = True
    """Whether what executions need to run (scripts, commands, environments) is kept, too: Redis is rebuilt from it."""
    keep_messages: bool = False
    """Whether also the messages of gated actors."""
    keep_journal_seconds: int = Field(default=600, ge=0)
    """How long Redis keeps an entry of the journal that the ledger has, for those who read it there."""
    keep_days: int = Field(default=90, ge=0, le=36_500)
    """How long an execution that has ended stays in the ledger; 0: for ever."""
    keep_payloads_days: int = Field(default=30, ge=0, le=36_500)
    """How long its payload and its result do; 0: as long as the execution."""
    keep_audit_days: int = Field(default=365, ge=0, le=36_500)
    """How long it is kept who changed what, of executions that are gone, too; 0: for ever."""
    keep_executions: int | None = Field(default=None, ge=1)
    """How many executions stay at most, ended ones; None: any number."""
    wait_sums_an_hour: int = Field(default=500, ge=1, le=100_000)
    """How many sums of what executions waited for an hour has, by action, by user and by gate each; whatever else it
    has is in the sums of all others."""

    @field_validator("url")
    @classmethod
    def _is_url(cls, value: str | None) -> str | None:
        if value is not None and (urlsplit(value).scheme not in _SCHEMES or "://" not in value):
            raise ValueError(
                "it must be a URL like sqlite:///var/ledger.sqlite3 or postgresql://user:password@host/database"
            )
        return value

    @field_serializer("url")
    def _without_password(self, value: str | None) -> str | None:
        return None if value is None else redacted_url(value)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            yield name, redacted_url(value) if name == "url" and isinstance(value, str) else value

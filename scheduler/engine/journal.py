"""The journal: every transition of every execution, and every change by an operator, by the server's clock.

In the flow: each script appends its entry within the transition itself, so no entry tells of something that did not
happen. The command line reads the journal, and so may programs that keep a history. It is a stream of bounded length:
Redis drops the oldest entries.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from ..transport.reading import Reader, repeated

READ_A_TRIP: Final = 1_000
KEPT_CHANGES: Final = 1_000
"""So many of the latest changes Redis keeps at least, in `lua/include/changes.lua`; no fewer, if it ever had more."""


class Verb(StrEnum):
    """The kinds of entries. A later release may write others."""

    PARK = "park"
    """Accepted: it waits, or is scheduled."""
    REJECT = "reject"
    """Refused; nothing of it was kept. Of one reason ten a second are told, then, without an id, how many more."""
    PROMOTE = "promote"
    """It was scheduled, and is due."""
    ADMIT = "admit"
    """It was granted a slot."""
    HAND_OVER = "hand_over"
    """A pod runs it from here on."""
    RELEASE = "release"
    """It ended, and its slot is free."""
    RETRY = "retry"
    """It failed, and waits again."""
    HAND_BACK = "hand_back"
    """It was granted but not begun, and waits again; this does not count as a try."""
    REAP = "reap"
    """Its lease ran out: it waits again, or has ended."""
    LOSE = "lose"
    """Its event was gone when it was granted."""
    EXPIRE = "expire"
    """It waited for too long."""
    CANCEL = "cancel"
    """It was cancelled, or asked to end."""
    REMOVE = "remove"
    """An operator removed it by force."""
    RESTORE = "restore"
    """The server had lost it, or had an older state of it: it is again as the ledger knows it."""
    REPRIORITISE = "reprioritise"
    """An operator moved it to another band."""
    BURY = "bury"
    """Refused when there was no caller to tell: kept as a dead letter."""
    TELL = "tell"
    """Its end without a body was reported."""
    DROP = "drop"
    """A dead letter was forgotten."""
    FORGET = "forget"
    """The server had lost its record; its other data was cleared away."""
    LIMIT = "limit"
    """An operator set or lifted a limit."""
    RATE = "rate"
    """An operator set or lifted a rate."""
    PAUSE = "pause"
    """An operator paused a gate, a lane or everything."""
    RESUME = "resume"
    """An operator ended a pause."""
    SET = "set"
    """An operator changed a setting."""
    SCHEDULE = "schedule"
    """An operator added, changed, paused, resumed or removed a schedule."""
    DROP_ACTION = "drop_action"
    """An operator dropped an action's lifetime counters."""
    ERASE = "erase"
    """An operator had a user forgotten; its name is a pseudonym."""
    REBUILD = "rebuild"
    """A rebuild from the ledger has come to its end."""
    SIGN_IN = "sign_in"
    """A browser signed in to the API."""
    SIGN_OUT = "sign_out"
    """It signed out, or its session was ended by a later one."""


@dataclass(frozen=True, slots=True)
class JournalEntry:
    """One transition."""

    entry_id: str
    verb: str
    """A `Verb`, unless a later release wrote it."""
    execution_id: str
    """Empty for an operator's change that concerns no execution, and for a number of refusals."""
    at_ms: int
    """Unix milliseconds of the server's clock."""
    fields: dict[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """An operator's change of a limit, a pause or a setting."""

    at_ms: int
    verb: str
    name: str
    """The gate or the setting."""
    before: str
    """The old value; empty for none, as is `after`."""
    after: str
    by: str
    """Who made the change."""
    entry_id: str = ""
    """The id of the journal's entry; empty if another source tells of the change."""


class Journal(Reader):
    """Reads the journal of one server. Each method raises QueueUnavailable if the server does not answer."""

    def entries(
        self, *, newest_first: bool = False, limit: int | None = None, after: str | None = None
    ) -> Iterator[JournalEntry]:
        """Transitions in order, as far back as the journal reaches; without those that are damaged.

        Args:
            newest_first: Whether to read backwards.
            limit: The maximum number of entries.
            after: The id of an entry; begin with the one that follows it.
        """
        at, seen = f"({after}" if after else "+" if newest_first else "-", 0
        while limit is None or seen < limit:
            page = self._page(at, newest_first)
            for entry_id, raw in page:
                entry = read_entry(entry_id, raw)
                if entry is None:
                    continue
                yield entry
                seen += 1
                if limit is not None and seen >= limit:
                    return
            if len(page) < READ_A_TRIP:
                return
            at = "(" + page[-1][0].decode()

    @repeated
    def _page(self, at: str, newest_first: bool) -> list[Any]:
        journal = self._scripts.keys.named("journal")
        if newest_first:
            return self._client.xrevrange(journal, max=at, count=READ_A_TRIP)
        return self._client.xrange(journal, min=at, count=READ_A_TRIP)

    def of(self, execution_id: str) -> list[JournalEntry]:
        """One execution's transitions, as far back as the journal reaches."""
        return [entry for entry in self.entries() if entry.execution_id == execution_id]

    @repeated
    def changes(self, limit: int | None = None) -> list[Change]:
        """Operators' changes of limits, pauses and settings, the latest first; the last `KEPT_CHANGES` are kept.

        Those that are damaged are left out.
        """
        entries = self._client.xrevrange(self._scripts.keys.named("changes"), count=limit)
        return [change for _, raw in entries if (change := _read_change(raw)) is not None]


def read_entry(entry_id: bytes, raw: dict[bytes, bytes]) -> JournalEntry | None:
    """Return an entry as the client gives it in its typed form; None if it is damaged: no script wrote it so."""
    try:
        fields = _read(raw)
        return JournalEntry(entry_id.decode(), fields.pop("verb"), fields.pop("id"), int(fields.pop("at")), fields)
    except (KeyError, ValueError):
        return None


def _read_change(raw: dict[bytes, bytes]) -> Change | None:
    try:
        fields = _read(raw)
        at_ms, entry_id = int(fields["at"]), fields["entry"]
        return Change(at_ms, fields["verb"], fields["name"], fields["from"], fields["to"], fields["by"], entry_id)
    except (KeyError, ValueError):
        return None


def _read(raw: dict[bytes, bytes]) -> dict[str, str]:
    return {name.decode(): value.decode(errors="replace") for name, value in raw.items()}

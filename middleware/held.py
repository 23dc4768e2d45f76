"""What this process holds: one entry a grant, from its admission to its settlement.

In the flow: consumers and settlements add entries, the gate begins them, the heartbeat renews them, settlement takes
them out. The table is memory only: if the process dies, the leases run out and the executions are reaped.
"""

import threading
import time
from dataclasses import dataclass, field
from typing import Any

from dramatiq import Message, MessageProxy

from ..scheduler.grants import Grant
from ..scheduler.scripts import Call


@dataclass(slots=True, eq=False)
class Entry:
    """One grant held here."""

    grant: Grant
    lane: str
    deadline: float
    """On this process's monotonic clock, counted from before the call that gave or renewed the lease was sent: when it
    is over, the execution may be another's, whatever Redis is believed to say."""
    begun: bool = False
    lost: bool = False
    """Its lease ran out, or Redis said that it is stale: nothing done under it counts any more."""
    thread_id: int = 0
    raised: BaseException | None = None
    retry: "tuple[Message[Any], int] | None" = None
    """The message that replaces this one, and its delay in ms: a re-enqueue noted, applied at ack in one transition."""
    settlement: Call | None = None
    """The call that settles it, kept while its reply is lost, so that it takes effect once."""

    def is_valid(self) -> bool:
        """Whether the grant is this process's still, as far as its own clock can tell."""
        return not self.lost and time.monotonic() < self.deadline


class GrantedMessage(MessageProxy):
    """A message that holds a grant."""

    def __init__(self, message: "Message[Any]", entry: Entry) -> None:
        super().__init__(message)
        self.entry = entry


class _Current(threading.local):
    entry: Entry | None = None
    settling: bool = False


current = _Current()
"""What this thread works on: the entry whose body runs, and whether a body has ended and its after-hooks run."""


def current_grant() -> Grant | None:
    """The grant under which the calling actor's body runs; None outside a gated actor."""
    return current.entry.grant if current.entry else None


@dataclass(slots=True)
class Held:
    """The table of one process. Safe to share between threads."""

    _entries: dict[tuple[str, int], Entry] = field(default_factory=dict[tuple[str, int], Entry])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, grant: Grant, lane: str, sent: float) -> Entry:
        """Enter a grant; `sent` is the monotonic time before the call that gave it."""
        entry = Entry(grant, lane, sent + grant.lease_ms / 1000)
        with self._lock:
            self._entries[grant.execution_id, grant.attempt] = entry
        return entry

    def drop(self, entry: Entry) -> bool:
        """Take an entry out; False if it was out already, so that only one settles it."""
        with self._lock:
            return self._entries.pop((entry.grant.execution_id, entry.grant.attempt), None) is entry

    def has(self, entry: Entry) -> bool:
        """Whether an entry is in the table still."""
        return self._entries.get((entry.grant.execution_id, entry.grant.attempt)) is entry

    def begin(self, entry: Entry) -> bool:
        """Mark that the body begins, if the grant is still this process's."""
        with self._lock:
            if (entry.grant.execution_id, entry.grant.attempt) not in self._entries or not entry.is_valid():
                return False
            entry.begun, entry.thread_id = True, threading.get_ident()
            return True

    def take_unbegun(self, lane: str | None = None) -> list[Entry]:
        """Take out all that has not begun, of one lane or of all, to hand it back."""
        with self._lock:
            taken = [e for e in self._entries.values() if not e.begun and (lane is None or e.lane == lane)]
            for entry in taken:
                del self._entries[entry.grant.execution_id, entry.grant.attempt]
            return taken

    def all(self) -> list[Entry]:
        """Every entry, for the heartbeat."""
        with self._lock:
            return list(self._entries.values())

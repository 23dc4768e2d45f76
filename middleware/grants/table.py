"""The grant table of a process: one entry for each grant, from admission to settlement.

In the flow: admissions add entries, the gate marks that their bodies begin, the heartbeat renews them, settlements take
them out. The code that takes an entry out owns its permit, so a permit is given back exactly once. The table is only in
memory: if the process dies, the leases run out and the executions are reaped.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from dramatiq import Message, MessageProxy

from ...scheduler.engine.grants import Grant
from ...scheduler.transport.forks import anew_in_child
from .cancellation import ExecutionCancelled, forget_interrupt, interrupt, running_greenlet


@dataclass(slots=True, eq=False)
class Entry:
    """One grant held here."""

    grant: Grant
    deadline: float
    """The end of the lease on this process's monotonic clock, counted from before the call that gave or renewed it was
    sent. After it, another process may hold the execution, even if Redis has not said so."""
    retries: int = 0
    """How often the message had been tried again when it was admitted."""
    has_permit: bool = False
    """Whether a thread of this worker stands behind it; the code that takes the entry out gives the permit back."""
    begun: bool = False
    ended: bool = False
    """Whether the body is over: hooks and the settlement follow, which nothing may interrupt."""
    lost: bool = False
    """Whether the lease ran out or Redis called the grant stale: nothing done under it counts any more."""
    stale: bool = False
    """Whether Redis called the grant stale: there is nothing left to settle."""
    cancelled: bool = False
    """Whether the body was told that its execution was cancelled."""
    thread_id: int = 0
    greenlet: Any = None
    """The greenlet that runs the body under gevent."""
    raised: BaseException | None = None
    message: "Message[Any] | None" = None
    """The message, as it was admitted."""
    retry: "tuple[Message[Any], int] | None" = None
    """The message that replaces this one, and its delay in ms: a re-enqueue noted, applied at ack in one transition."""
    unsent: "list[tuple[Message[Any], int | None]]" = field(default_factory=list["tuple[Message[Any], int | None]"])
    """Messages of hooks (a pipeline's next step, a callback) from when Redis was away, sent before the settlement."""
    unstored: "list[Callable[[], None]]" = field(default_factory=list["Callable[[], None]"])
    """Calls that store the result, put off while the result backend is away, and made before the settlement."""
    ended_at: float = 0.0
    """When its body ended, on the monotonic clock."""
    settling: Any = None
    """The request that settles it, kept while its answer is missing, so that it takes effect once."""
    hint: "Message[Any] | None" = None
    """On a plain broker, the delivered message, in whose place this execution's message runs."""
    ran: "Message[Any] | None" = None
    """The execution's message, while the broker has its hint back to acknowledge it."""

    @property
    def key(self) -> tuple[str, str]:
        """The entry's key, with the nonce: a server that came back with older data may grant an attempt twice."""
        return self.grant.execution_id, self.grant.nonce

    @property
    def lane(self) -> str:
        """The lane from which it was admitted."""
        return self.grant.lane

    def is_valid(self) -> bool:
        """Whether this process still holds the grant, as far as its own clock can tell."""
        return not self.lost and time.monotonic() < self.deadline


class GrantedMessage(MessageProxy):
    """A message that holds a grant."""

    def __init__(self, message: "Message[Any]", entry: Entry) -> None:
        super().__init__(message)
        self.entry = entry
        # Set directly, not read through the proxy's `__getattr__`: these are read some twenty times a job.
        self.message_id, self.actor_name, self.queue_name = message.message_id, message.actor_name, message.queue_name
        self.args, self.kwargs, self.options = message.args, message.kwargs, message.options
        entry.message = message


def entry_of(grant: Grant, sent: float, *, retries: int = 0, has_permit: bool = False) -> Entry:
    """Make the entry of a grant; `sent` is the monotonic time before the call that gave the grant."""
    return Entry(grant, sent + grant.lease_ms / 1000, retries, has_permit)


@dataclass(slots=True, weakref_slot=True, eq=False)
class GrantTable:
    """The table of one process. Safe to share between threads."""

    _entries: dict[tuple[str, str], Entry] = field(default_factory=dict[tuple[str, str], Entry])
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        anew_in_child(self._begin_anew)

    def _begin_anew(self) -> None:
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def add(self, grant: Grant, sent: float, *, retries: int = 0, has_permit: bool = False) -> Entry:
        """Make and add the entry of a grant, with its permit if it has one; see `entry_of`."""
        entry = entry_of(grant, sent, retries=retries, has_permit=has_permit)
        self.enter(entry)
        return entry

    def enter(self, entry: Entry) -> None:
        """Add an entry."""
        with self._lock:
            self._entries[entry.key] = entry

    def drop(self, entry: Entry) -> bool:
        """Take an entry out; False if it was out already. So only one caller settles it."""
        with self._lock:
            if self._entries.get(entry.key) is not entry:
                return False
            del self._entries[entry.key]
            return True

    def drop_unbegun(self, entry: Entry) -> bool:
        """Take an entry out; False if its body has begun, or it was out already."""
        with self._lock:
            if entry.begun or self._entries.get(entry.key) is not entry:
                return False
            del self._entries[entry.key]
            return True

    def has(self, entry: Entry) -> bool:
        """Whether an entry is still in the table."""
        return self._entries.get(entry.key) is entry

    def begin(self, entry: Entry) -> bool:
        """Mark that the body begins, if this process still holds the grant; if the lease ran out, mark it lost."""
        with self._lock:
            if self._entries.get(entry.key) is not entry:
                return False
            if not entry.is_valid():
                entry.lost = True
                return False
            entry.begun, entry.thread_id, entry.greenlet = True, threading.get_ident(), running_greenlet()
            return True

    def cancel(self, entry: Entry) -> None:
        """Tell a body that its execution was cancelled, once, and only while it runs."""
        with self._lock:
            if entry.begun and not entry.ended and not entry.cancelled:
                entry.cancelled = True
                interrupt(entry.thread_id, entry.greenlet, lambda: entry.ended)

    def end(self, entry: Entry) -> None:
        """Mark that the body is over, in its own thread: from here on it is not interrupted."""
        try:
            with self._lock:
                entry.ended = True
            if entry.cancelled:
                # The interrupt may still be pending, and would kill the thread in the middle of a hook.
                forget_interrupt()
        except ExecutionCancelled:
            entry.ended = True

    def take_unbegun(self, lane: str | None = None) -> list[Entry]:
        """Take out all entries that have not begun, of one lane or of all, to hand them back."""
        with self._lock:
            taken = [e for e in self._entries.values() if not e.begun and (lane is None or e.lane == lane)]
            for entry in taken:
                del self._entries[entry.key]
            return taken

    def of_thread(self, thread_id: int) -> list[Entry]:
        """Return the entries whose bodies began in a thread."""
        with self._lock:
            return [entry for entry in self._entries.values() if entry.begun and entry.thread_id == thread_id]

    def all(self) -> list[Entry]:
        """Return all entries."""
        with self._lock:
            return list(self._entries.values())

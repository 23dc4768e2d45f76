"""The heartbeat of one worker process: renews the leases of all that it holds, in one call.

In the flow: runs from worker boot to shutdown, also while the worker drains. A renewal counts from the moment before it
was sent; what Redis calls stale is marked lost, and a body whose execution was cancelled is interrupted. If the process
dies or stops, the leases run out (F1, F4); if Redis is away, entries run out on the monotonic clock.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

import redis
import structlog

from ..scheduler.errors import BandmasterError
from ..scheduler.grants import Renewal
from ..scheduler.transitions import Transitions
from .held import Entry, Held

log = structlog.get_logger(__name__)
ROUND_SECONDS: Final = 1.0
JOIN_SECONDS: Final = 5.0
"""How long a stop waits for a round that hangs in Redis; the thread is a daemon."""


class Heartbeat:
    """Renews until it is stopped."""

    def __init__(self, transitions: Transitions, held: Held, lease_ttl_ms: int) -> None:
        self._transitions = transitions
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @property
    def interval_seconds(self) -> float:
        """A third of the lease, so that a lost renewal costs nothing."""
        return self._lease_ttl_ms / 3000

    @property
    def is_running(self) -> bool:
        """Whether its thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    @property
    def thread(self) -> threading.Thread | None:
        """Its thread, while there is one."""
        return self._thread

    def start(self, also: Callable[[], None]) -> None:
        """Start the thread, unless it runs; `also` is what else to do each round, a second or less long."""
        with self._lock:
            if self.is_running:
                return
            # Each thread has its own: one that was stopped while it hung must not come back to life.
            self._stopped = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(also, self._stopped), name="bandmaster-heartbeat", daemon=True
            )
            self._thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for it a while."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(JOIN_SECONDS)
            self._thread = None

    def _run(self, also: Callable[[], None], stopped: threading.Event) -> None:
        due = time.monotonic() + self.interval_seconds
        while not stopped.wait(min(self.interval_seconds, ROUND_SECONDS)):
            if time.monotonic() >= due:
                due = time.monotonic() + self.interval_seconds
                self._guarded(self.beat)
            self._guarded(also)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except (BandmasterError, redis.RedisError) as error:
            log.warning("heartbeat_failed", error=str(error))
        except Exception:  # the loop must outlive any one round: leases depend on it
            log.exception("heartbeat_failed")

    def beat(self) -> None:
        """Renew everything that is held, once."""
        entries = [entry for entry in self._held.all() if not entry.lost]
        sent = time.monotonic()
        renewals = self._transitions.renew([entry.grant for entry in entries], lease_ms=self._lease_ttl_ms)
        for entry, renewal in zip(entries, renewals, strict=True):
            self._note(entry, renewal, sent)

    def _note(self, entry: Entry, renewal: Renewal, sent: float) -> None:
        if renewal is Renewal.STALE:
            # Settled in this very moment, or lost: only the second is still in the table.
            entry.stale = entry.lost = True
            return
        entry.deadline = max(entry.deadline, sent + self._lease_ttl_ms / 1000)
        if renewal is Renewal.CANCEL:
            self._held.cancel(entry)

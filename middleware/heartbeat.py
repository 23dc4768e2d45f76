"""The heartbeat of one worker process: renews the leases of all that it holds, in one call.

In the flow: runs from worker boot to shutdown, also while the worker drains. A renewal counts from the moment before it
was sent; what Redis calls stale is marked lost, and a body whose execution was cancelled is interrupted. If the process
dies or stops, the leases run out (F1, F4); if Redis is away, entries run out on the monotonic clock.
"""

import threading
import time
from collections.abc import Callable

import structlog
from dramatiq.middleware import Interrupt, raise_thread_exception

from ..scheduler.errors import BandmasterError
from ..scheduler.grants import Renewal
from ..scheduler.transitions import Transitions
from .held import Held

log = structlog.get_logger(__name__)


class ExecutionCancelled(Interrupt):
    """Raised inside a body whose execution was cancelled while it ran."""


class Heartbeat:
    """Renews until it is stopped."""

    def __init__(self, transitions: Transitions, held: Held, lease_ttl_ms: int) -> None:
        self._transitions = transitions
        self._held = held
        self._lease_seconds = lease_ttl_ms / 1000
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self._told: set[tuple[str, int]] = set()

    @property
    def interval_seconds(self) -> float:
        """A third of the lease, so that two renewals may be lost."""
        return self._lease_seconds / 3

    @property
    def is_running(self) -> bool:
        """Whether its thread is alive."""
        return self._thread is not None and self._thread.is_alive()

    def start(self, also: Callable[[], None] | None = None, *, every_seconds: float | None = None) -> None:
        """Start the thread.

        Args:
            also: What else to do each round.
            every_seconds: The rounds' length, if shorter than the heartbeat's own.
        """
        if self.is_running:
            return
        self._stopped.clear()
        pause = min(self.interval_seconds, every_seconds or self.interval_seconds)
        self._thread = threading.Thread(target=self._run, args=(also, pause), name="bandmaster-heartbeat", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread and wait for it."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _run(self, also: Callable[[], None] | None, pause: float) -> None:
        due = time.monotonic() + self.interval_seconds
        while not self._stopped.wait(pause):
            try:
                if time.monotonic() >= due:
                    due = time.monotonic() + self.interval_seconds
                    self.beat()
                if also is not None:
                    also()
            except BandmasterError as error:
                log.warning("heartbeat_failed", error=str(error))
            except Exception:  # the loop must outlive any one round: leases depend on it
                log.exception("heartbeat_failed")

    def beat(self) -> None:
        """Renew everything that is held, once."""
        entries = [entry for entry in self._held.all() if not entry.lost]
        sent = time.monotonic()
        renewals = self._transitions.renew([entry.grant for entry in entries])
        for entry, renewal in zip(entries, renewals, strict=True):
            key = (entry.grant.execution_id, entry.grant.attempt)
            if renewal is Renewal.STALE:
                # Settled in this very moment, or lost: only the second is still in the table.
                entry.lost = True
                continue
            entry.deadline = sent + self._lease_seconds
            if renewal is Renewal.CANCEL and entry.begun and key not in self._told:
                self._told.add(key)
                raise_thread_exception(entry.thread_id, ExecutionCancelled)
        self._told &= {(entry.grant.execution_id, entry.grant.attempt) for entry in entries}

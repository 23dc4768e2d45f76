"""Renews the leases of all grants that a worker process holds, in one call.

In the flow: this runs from worker boot to shutdown, also while the worker drains. A renewed lease counts from the
moment before the call was sent. A grant that Redis calls stale is marked lost; a body whose execution was cancelled is
interrupted. If the process dies or stops, the leases run out (F1, F4). If Redis is away, entries run out on the
monotonic clock.
"""

import time
from collections.abc import Callable
from typing import Final

from ...configs.logger import Logger
from ...scheduler.engine.grants import Renewal
from ...scheduler.engine.transitions import Transitions
from ..round_thread import RoundThread, done
from .table import Entry, GrantTable

log = Logger(__name__)
NAME: Final = "bandmaster-heartbeat"
ROUND_SECONDS: Final = 1.0


class LeaseRenewal:
    """Renews leases until it is stopped."""

    def __init__(self, transitions: Transitions, held: GrantTable, lease_ttl_ms: int, also: Callable[[], None]) -> None:
        """Prepare the rounds without starting them.

        Args:
            transitions: The queue's transitions.
            held: The table of grants to renew.
            lease_ttl_ms: The length of a lease.
            also: Called once a round as well, every second or more often.
        """
        self._transitions = transitions
        self._held = held
        self._lease_ttl_ms = lease_ttl_ms
        self._also = also
        self._due = 0.0
        self.rounds = RoundThread(NAME, self._round, pause_seconds=min(self.interval_seconds, ROUND_SECONDS))

    @property
    def interval_seconds(self) -> float:
        """A third of the lease, so that one lost renewal does no harm."""
        return self._lease_ttl_ms / 3000

    def _round(self) -> None:
        began = time.monotonic()
        # A failed renewal is repeated in the next round: after an outage the leases have little time left.
        if began >= self._due and done(self.beat, NAME):
            self._due = began + self.interval_seconds
        self._also()

    def beat(self) -> None:
        """Renew the leases of all held grants once."""
        entries = [entry for entry in self._held.all() if not entry.lost]
        sent = time.monotonic()
        renewals = self._transitions.renew([entry.grant for entry in entries], lease_ms=self._lease_ttl_ms)
        for entry, renewal in zip(entries, renewals, strict=True):
            self._note(entry, renewal, sent)

    def _note(self, entry: Entry, renewal: Renewal, sent: float) -> None:
        if renewal is Renewal.ERROR:
            log.warning("lease_not_renewed", execution_id=entry.grant.execution_id, attempt=entry.grant.attempt)
            return
        if renewal is Renewal.STALE:
            # The grant was settled just now, or it was lost; only a lost grant is still in the table.
            entry.stale = entry.lost = True
            return
        entry.deadline = max(entry.deadline, sent + self._lease_ttl_ms / 1000)
        if renewal is Renewal.CANCEL:
            self._held.cancel(entry)

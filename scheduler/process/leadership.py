"""Leadership of the periodic jobs: one scheduler process leads, fenced by an epoch that rises with each election.

In the flow: the scheduler process renews its lead several times per TTL; the repairs of its ticks carry the epoch. If
the leader dies, the key's TTL runs out and another process is elected with a higher epoch. A leader that merely slept
notices by its own deadline, which its monotonic clock counts from before the renewal was sent. Redis refuses an old
epoch in any case (D28).
"""

import time
from uuid import uuid4

from ..transport.scripts import Scripts


class Leadership:
    """One process's candidacy. Not safe to share between threads."""

    def __init__(self, scripts: Scripts, *, ttl_ms: int = 10_000, leader_id: str | None = None) -> None:
        self.leader_id = leader_id or uuid4().hex
        self.epoch: int | None = None
        self._ttl_ms = ttl_ms
        self._deadline = 0.0
        self._scripts = scripts
        self._elect = scripts.script("elect", "leader_id epoch ttl_ms")
        self._resign = scripts.script("resign", "leader_id epoch")

    @property
    def leads(self) -> bool:
        """Whether the leadership was renewed less than its TTL ago, by this process's monotonic clock."""
        return self.epoch is not None and time.monotonic() < self._deadline

    def elect(self) -> bool:
        """Become the leader, or stay the leader. `Ticking` stops calling this if its ticks hang, so it loses the lead.

        Returns:
            Whether this process leads now.
        """
        sent = time.monotonic()
        won, epoch = self._scripts.call(
            self._elect, self.leader_id, "" if self.epoch is None else self.epoch, self._ttl_ms
        )
        if won == 1:
            self.epoch = int(epoch)
            self._deadline = sent + self._ttl_ms / 1000
        else:
            self.epoch = None
        return self.leads

    def resign(self) -> None:
        """Give up the lead at once, so that another process can take it; do nothing if this process does not lead."""
        if self.epoch is not None:
            self._scripts.call(self._resign, self.leader_id, self.epoch)
            self.epoch = None

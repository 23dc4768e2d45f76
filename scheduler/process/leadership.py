"""Leadership of the periodic jobs: one scheduler process leads, fenced by an epoch that rises with each election.

In the flow: the scheduler process elects before each tick; the tick's repairs carry the epoch. If the leader dies, the
key's TTL runs out and another is elected with a higher epoch; if it merely slept, its own deadline, counted on its
monotonic clock from before the renewal was sent, tells it, and Redis refuses its epoch whatever it believes (D28).
"""

import time
from uuid import uuid4

from ..transport.scripts import Scripts


class Leadership:
    """One candidate. Not for sharing between threads."""

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
        """Become the leader, or stay it; called from the loop that does the work, so that a hung loop loses it.

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
        """Give it up at once, for a quick successor; does nothing if another leads."""
        if self.epoch is not None:
            self._scripts.call(self._resign, self.leader_id, self.epoch)
            self.epoch = None

"""``Trimming``: drops from Redis what the ledger has of the journal, once nobody is likely to read it there any more.

In the flow: the consumer calls `step` after each of its pages. What is not committed in SQL is never dropped here, only
by the journal's own bound (`journal_max_bytes`). The latest entries stay however old they are: a follower of events may
ask for so many. If the process dies, or the reply is lost, the next step drops what is left.
"""

import time
from collections.abc import Callable
from typing import Final

from ..scheduler.engine.journal_following import Follower, Position

KEPT_ENTRIES: Final = 10_000
"""The latest, which stay: so many a follower of the API's events may have missed."""
KEPT_SECONDS: Final = 600
_EACH_SECONDS: Final = 1.0
_MANY: Final = 5_000
"""If a call dropped so many there may be more; if fewer, there are none."""
_CALLS: Final = 20


class Trimming:
    """Drops what was read. Used by one thread."""

    def __init__(
        self,
        follower: Follower,
        *,
        keep_seconds: int = KEPT_SECONDS,
        keep_entries: int = KEPT_ENTRIES,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Makes no call.

        Args:
            follower: Of the journal.
            keep_seconds: Younger entries stay.
            keep_entries: So many of the latest stay.
            clock: Seconds that only grow.
        """
        self._follower = follower
        self._keep_ms = keep_seconds * 1000
        self._keep_entries = keep_entries
        self._clock = clock
        self._due_at = clock()

    def step(self, position: Position, now_ms: int) -> int:
        """Drop what is old enough, if the last time was a second ago or more.

        Args:
            position: How far the ledger has the journal, committed.
            now_ms: The Redis server's time.

        Returns:
            How many entries were dropped.

        Raises:
            QueueUnavailable: If Redis does not answer.
        """
        if self._clock() < self._due_at:
            return 0
        self._due_at = self._clock() + _EACH_SECONDS
        dropped = 0
        for _ in range(_CALLS):
            now_dropped = self._follower.trim(position, now_ms - self._keep_ms, self._keep_entries)
            dropped += now_dropped
            if now_dropped < _MANY:
                break
        return dropped

"""Estimates the cluster's time, so that pods' timestamps are not compared with this machine's clock.

In the flow: `client.py` passes on the `Date` of every answer (RFC 9110, whole seconds); the watch and the cleanup
compute ages by this clock. Otherwise a worker whose clock is ten minutes ahead would give up every pod that has not
started yet. Each process keeps its own difference and updates it with each answer. Before the first answer the
difference is zero, but then no pod is known either.
"""

import email.utils
import time
from typing import Final

_COARSE_SECONDS: Final = 3.0
"""Smaller differences are ignored: a date has whole seconds, and an answer takes time to arrive."""


class ClusterClock:
    """Unix seconds as the API server counts them. Safe to share between threads."""

    def __init__(self) -> None:
        self._ahead_seconds = 0.0
        """How far the cluster's clock is ahead of this machine's."""

    def note(self, date: str | None) -> None:
        """Update the difference by an answer's `Date`; ignore a header that is missing or no date."""
        try:
            said = email.utils.parsedate_to_datetime(date or "").timestamp()
        except ValueError:
            return
        ahead = said - time.time()
        self._ahead_seconds = ahead if abs(ahead) > _COARSE_SECONDS else 0.0

    def now(self) -> float:
        """The cluster's present time, unix seconds."""
        return time.time() + self._ahead_seconds

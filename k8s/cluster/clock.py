"""The cluster's time: what pods' timestamps are compared with, whatever this machine's clock says.

In the flow: `client.py` notes the `Date` of every answer (RFC 9110, whole seconds); the watch and the cleanup ask how
old something is. A worker whose clock is ten minutes ahead would otherwise give up every pod that has not started yet.
Each process keeps its own difference, anew with each answer; before the first one there is none, and no pod either.
"""

import email.utils
import time
from typing import Final

_COARSE_SECONDS: Final = 3.0
"""A date has whole seconds, and an answer travels for a while: less is no difference."""


class ClusterClock:
    """Unix seconds as the API server counts them. Safe to share between threads."""

    def __init__(self) -> None:
        self._ahead_seconds = 0.0
        """Of this machine's clock, that of the cluster."""

    def note(self, date: str | None) -> None:
        """Learn from an answer's `Date`; one that is missing or no date says nothing."""
        try:
            said = email.utils.parsedate_to_datetime(date or "").timestamp()
        except ValueError:
            return
        ahead = said - time.time()
        self._ahead_seconds = ahead if abs(ahead) > _COARSE_SECONDS else 0.0

    def now(self) -> float:
        """The time."""
        return time.time() + self._ahead_seconds

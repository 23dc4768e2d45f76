"""Remembers the ids that were sent while Redis did not answer: they may have been accepted.

In the flow: who sends such a message again means the same sending, so `PriorityBands` does not take it for another one.
It is memory of the process that sent; the latest are kept.
"""

import threading
from collections.abc import Iterable
from typing import Final

MOST_KEPT: Final = 100_000


class Unsure:
    """Ids, the latest of them. Safe to share between threads."""

    def __init__(self) -> None:
        self._ids: dict[str, None] = {}
        self._lock = threading.Lock()

    def add(self, ids: Iterable[str]) -> None:
        """Keep ids, and forget the oldest if there are too many."""
        with self._lock:
            self._ids.update(dict.fromkeys(ids))
            for oldest in list(self._ids)[:-MOST_KEPT]:
                del self._ids[oldest]

    def __contains__(self, one: str) -> bool:
        return one in self._ids

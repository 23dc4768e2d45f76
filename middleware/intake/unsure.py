"""Remembers the ids of sends that Redis did not answer, and so may have accepted.

In the flow: a message that is sent again after such a failure is the same sending, so `PriorityBands` does not park it
as a new execution. The ids are in the sending process's memory; only the latest are kept.
"""

import threading
from collections.abc import Iterable
from typing import Final

MOST_KEPT: Final = 100_000


class Unsure:
    """The latest of these ids. Safe to share between threads."""

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

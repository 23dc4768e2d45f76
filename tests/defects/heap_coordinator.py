"""A coordinator in memory, with the defects of its kind: what the engine is compared with.

A heap and a set of active executions in one process; stale entries are swept when the heap is full; scheduling is
triggered by an entry at position 0 and by a completion. `between` stands for what another task does while this awaits.
"""

import heapq
from collections.abc import Callable
from typing import Any

from bandmaster.scheduler.model.priority import Priority


class QueueRejectError(Exception):
    """Told to the log and as an event; whoever called the API was told "accepted" long before."""


def _nothing() -> None:
    pass


class HeapCoordinator:
    """One replica. `now` is in seconds."""

    def __init__(
        self,
        *,
        max_concurrent: int = 10,
        max_queue_size: int = 10_000,
        max_executions_per_user: int = 100,
        stale_timeout_seconds: int = 3_600,
    ) -> None:
        self.max_concurrent = max_concurrent
        self._max_queue_size = max_queue_size
        self._max_executions_per_user = max_executions_per_user
        self._stale_timeout_seconds = stale_timeout_seconds
        self.now = 0.0
        self.heap: list[tuple[int, float, Any]] = []
        self.active: set[str] = set()
        self.published: list[str] = []
        """CreatePodCommands."""

    def requested(self, event: dict[str, str], priority: Priority, *, between: Callable[[], object] = _nothing) -> int:
        """Check the limits, then add; trigger at position 0. Returns the position."""
        if len(self.heap) >= self._max_queue_size:
            self.heap = [entry for entry in self.heap if self.now - entry[1] <= self._stale_timeout_seconds]
            if len(self.heap) >= self._max_queue_size:
                raise QueueRejectError("queue full")
        user = event.get("user", "")
        if sum(entry[2].get("user", "") == user for entry in self.heap) >= self._max_executions_per_user:
            raise QueueRejectError("user limit")
        between()
        entry = (int(priority), self.now, event)
        heapq.heappush(self.heap, entry)
        position = sum(other[:2] < entry[:2] for other in self.heap)
        if position == 0:
            self.schedule()
        return position

    def completed(self, execution_id: str) -> None:
        """Completed or failed: free, and trigger. A timeout is no event that it knows."""
        self.active.discard(execution_id)
        self.schedule()

    def cancelled(self, execution_id: str) -> None:
        """Out of the heap, and trigger."""
        self.heap = [entry for entry in self.heap if entry[2]["id"] != execution_id]
        heapq.heapify(self.heap)
        self.schedule()

    def schedule(self) -> None:
        """Publish the next, unless it is active already."""
        if len(self.active) >= self.max_concurrent or not self.heap:
            return
        event = heapq.heappop(self.heap)[2]
        if event["id"] not in self.active:
            self.active.add(event["id"])
            self.published.append(event["id"])

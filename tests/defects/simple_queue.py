"""A simple priority queue on Redis, with the defects of its kind: what the engine is compared with.

A sorted set for what waits, a set for what runs, and a script that moves one from the first to the second, as such
queues are usually written (docs/origins.md). Keys have a prefix of their own. `clock` is the caller's clock;
`between` stands for what another process does between two of the calls.
"""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import redis

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.priority import Priority

EVENT_TTL_SECONDS: Final = 86_400
_TRY_SCHEDULE: Final = (Path(__file__).parent / "simple_try_schedule.lua").read_text(encoding="utf-8")


def _nothing() -> None:
    pass


class SimpleQueue:
    """The methods of `ExecutionQueueService`, each a few Redis commands one after the other."""

    def __init__(self, client: redis.Redis, *, max_concurrent: int = 10) -> None:
        self.client: Any = client
        self.max_concurrent = max_concurrent
        """The limit as this replica has loaded and cached it (D14)."""
        self.clock: Callable[[], int] = lambda: int(time.time() * 1000)
        self.depth_metric = 0
        """``queue.depth``, an UpDownCounter of this process (D16)."""

    def enqueue(self, event: ExecutionRequestedEvent) -> int:
        """ZADD, then SET; returns the position."""
        score = int(event.priority) * 10**12 + self.clock()
        self.client.zadd("simple:pending", {event.execution_id: score})
        self.client.set(f"simple:event:{event.execution_id}", event.to_json(), ex=EVENT_TTL_SECONDS)
        self.depth_metric += 1
        return int(self.client.zrank("simple:pending", event.execution_id))

    def try_schedule(self, max_active: int | None = None) -> tuple[str, ExecutionRequestedEvent] | None:
        """The script, then GET."""
        allowed = self.max_concurrent if max_active is None else max_active
        popped = self.client.eval(_TRY_SCHEDULE, 2, "simple:active", "simple:pending", allowed)
        if popped is None:
            return None
        self.depth_metric -= 1
        event = self.client.get(f"simple:event:{popped.decode()}")
        return None if event is None else (popped.decode(), ExecutionRequestedEvent.from_any(event))

    def release(self, execution_id: str) -> None:
        """SREM, then DEL."""
        self.client.srem("simple:active", execution_id)
        self.client.delete(f"simple:event:{execution_id}")

    def update_priority(
        self, execution_id: str, priority: Priority, *, between: Callable[[], object] = _nothing
    ) -> bool:
        """ZSCORE to see whether it waits, then ZADD."""
        if self.client.zscore("simple:pending", execution_id) is None:
            return False
        between()
        self.client.zadd("simple:pending", {execution_id: int(priority) * 10**12 + self.clock()})
        return True

    def remove(self, execution_id: str) -> None:
        """ZREM, SREM, DEL."""
        self.client.zrem("simple:pending", execution_id)
        self.client.srem("simple:active", execution_id)
        self.client.delete(f"simple:event:{execution_id}")

    def get_queue_status(self) -> dict[str, int]:
        """ZCARD and SCARD."""
        return {
            "queue_depth": self.client.zcard("simple:pending"),
            "active_count": self.client.scard("simple:active"),
        }

    def get_pending_by_priority(self) -> dict[str, int]:
        """ZCOUNT over the score ranges that the formula suggests."""
        return {
            priority.name: self.client.zcount("simple:pending", priority * 10**12, (priority + 1) * 10**12 - 1)
            for priority in Priority
        }

    def restart_failed_start(self, event: ExecutionRequestedEvent) -> None:
        """What a start that failed does: release, then enqueue again (D9)."""
        self.release(event.execution_id)
        self.enqueue(event)


class SimpleSagas:
    """A simple store of sagas, one an execution: who comes second finds it there and returns (D6)."""

    def __init__(self, create_pod: Callable[[str], object]) -> None:
        self._create_pod = create_pod
        self.known: set[str] = set()

    def start(self, execution_id: str, *, between: Callable[[], object] = _nothing) -> None:
        """Store the saga, then run its steps."""
        if execution_id in self.known:
            return
        self.known.add(execution_id)
        between()
        self._create_pod(execution_id)

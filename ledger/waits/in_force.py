"""What holds now, as Redis has it: what was never changed has no other trace.

In the flow: whoever tells what an execution waited for reads this first, and then the ledger.
"""

from dataclasses import dataclass

from ...scheduler.model.limits import Limits
from ...scheduler.queue import ExecutionQueueService


@dataclass(frozen=True, slots=True)
class InForce:
    """Limits and pauses now."""

    now_ms: int
    """The server's time."""
    limits: Limits
    paused: dict[str, int]
    """Since when, by name."""
    lane_bound: int | None
    """How many of the execution's lane may hold a slot; None: any number."""
    max_concurrent: int | None
    """How many of all lanes; None: any number."""
    lanes: tuple[str, ...]
    """All there are."""


def in_force(queue: ExecutionQueueService, lane: str) -> InForce:
    """Read it.

    Args:
        queue: The queue.
        lane: The execution's.

    Raises:
        QueueUnavailable: If Redis does not answer.
    """
    settings = queue.on(lane).views.status().settings
    lane_bound, max_concurrent = settings["max_concurrent_executions"], settings["max_concurrent"]
    return InForce(
        now_ms=queue.views.server_time_ms(),
        limits=queue.controls.all_limits(),
        paused=queue.controls.paused(),
        lane_bound=None if lane_bound is None else int(lane_bound),
        max_concurrent=None if max_concurrent is None else int(max_concurrent),
        lanes=tuple(queue.overview.lane_names()),
    )

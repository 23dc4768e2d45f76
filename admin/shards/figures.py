"""``figures_of``: one shard at a glance.

In the flow: each shard is asked in a thread of its own. Reads only, some round trips, so that figures of a busy shard
may be some milliseconds apart.
"""

from dataclasses import dataclass

from ...scheduler.ages import Ages
from ...scheduler.lanes import all_lanes
from ...scheduler.queue import ExecutionQueueService
from ...scheduler.workers import Workers


@dataclass(frozen=True, slots=True)
class ShardFigures:
    """What there is to tell of one shard, over all its lanes."""

    now_ms: int
    """By its server's clock."""
    queue_depth: int
    active_count: int
    scheduled_count: int
    dead_count: int
    oldest_wait_ms: int
    """How long the one waits that waits longest; 0: none waits."""
    paused: tuple[str, ...]
    """Gates, lanes (`lane:NAME`), or everything (`*`)."""
    leader: str | None
    workers: int
    threads: int
    """Of all its workers."""


def figures_of(queue: ExecutionQueueService) -> ShardFigures:
    """Return the figures of one shard.

    Raises:
        QueueUnavailable: If its server does not answer, or refuses.
    """
    figures = [each for _, each in all_lanes(queue)]
    ages = Ages(queue.scripts).of(figures)
    workers = Workers(queue.scripts).alive()
    leader = queue.views.leader()
    return ShardFigures(
        now_ms=queue.views.server_time_ms(),
        queue_depth=sum(each.queue_depth for each in figures),
        active_count=sum(each.active_count for each in figures),
        scheduled_count=sum(each.scheduled_count for each in figures),
        dead_count=figures[0].dead_count,
        oldest_wait_ms=max(each.oldest_ms for each in ages),
        paused=tuple(queue.controls.paused()),
        leader=None if leader is None else leader.leader_id,
        workers=len(workers),
        threads=sum(each.threads for each in workers),
    )

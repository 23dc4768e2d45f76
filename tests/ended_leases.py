"""Ends leases without waiting for them: the workers of a test have long ones, which no busy machine loses."""

from typing import Final

from bandmaster.scheduler.queue import ExecutionQueueService

LONG_LEASE_MS: Final = 20_000


def end_leases(queue: ExecutionQueueService, *execution_ids: str) -> None:
    """The leases of these executions, or all, are over, as when that time had passed: whoever holds one has lost it."""
    lease, client = queue.scripts.keys.named("lease"), queue.scripts.client
    members: list[bytes] = client.zrange(lease, 0, -1)  # type: ignore[assignment]
    named = [each for each in members if not execution_ids or each.decode().partition("\n")[0] in execution_ids]
    assert named or not execution_ids
    for each in named:
        # Only of one that is still held: an execution that has ended since must not get a lease again.
        client.zadd(lease, {each: -2 * LONG_LEASE_MS}, xx=True, incr=True)

"""In small, what the model also plays: what a pause holds back, what a cancellation leaves, what is not forgotten."""

from typing import cast

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

LANES = ("executions",)
LEASE_MS = 60_000


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """With one execution that waits."""
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x", action="pod", user="ann"))
    return queue


@pytest.mark.parametrize("paused", ["*", "lane:executions", "action:pod", "user:ann"])
def test_nothing_passes_what_is_paused_until_it_is_resumed(queue: ExecutionQueueService, paused: str) -> None:
    queue.controls.pause(paused)
    assert not queue.transitions.admit(LANES, 1, lease_ms=LEASE_MS).grants
    assert not queue.transitions.admit((*LANES, "mail"), 1, lease_ms=LEASE_MS).grants
    queue.controls.resume(paused)
    assert queue.transitions.admit(LANES, 1, lease_ms=LEASE_MS).grants


@pytest.mark.parametrize("end", [State.COMPLETED, State.FAILED])
def test_a_cancelled_body_has_completed_if_it_did_and_else_is_cancelled(
    queue: ExecutionQueueService, end: State
) -> None:
    (grant,) = queue.transitions.admit(LANES, 1, lease_ms=LEASE_MS).grants
    queue.cancel("x")
    queue.transitions.release("x", grant.attempt, end)
    assert queue.views.meta("x")["state"] == (end if end is State.COMPLETED else State.CANCELLED)


def test_a_lease_whose_execution_is_known_is_not_forgotten(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.transitions.admit(LANES, 1, lease_ms=LEASE_MS)
    leases = cast("list[bytes]", redis_client.zrange("exec_queue:lease", 0, -1))
    (lease,) = leases
    assert not queue.transitions.forget(lease.decode())
    assert redis_client.zrange("exec_queue:lease", 0, -1) == leases

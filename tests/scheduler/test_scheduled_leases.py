"""What `try_schedule` grants is renewed by nobody: its lease covers the start, the program's time and the grace."""

import pytest
import redis
from defects.contrast import event
from turned_queue import ROUND_MS, TurnedQueue

from bandmaster.configs.areas import KubernetesSettings, LeaseSettings
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

TIMEOUT_SECONDS = 600
PULL_SECONDS = KubernetesSettings().pending_deadline_seconds
GRACE_SECONDS = LeaseSettings().grace_ms // 1000
ROUND_SECONDS = ROUND_MS // 1000
NAME = "slow"


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """One was taken, and whoever took it says nothing more."""
    queue = TurnedQueue(redis_client)
    queue.enqueue(event(NAME, timeout_seconds=TIMEOUT_SECONDS))
    assert queue.try_schedule() is not None
    return queue


def test_one_whose_image_is_pulled_to_the_last_moment_has_all_of_its_time(queue: TurnedQueue) -> None:
    queue.let_time_pass(PULL_SECONDS + TIMEOUT_SECONDS + GRACE_SECONDS - ROUND_SECONDS)
    assert queue.views.meta(NAME)["state"] == State.RUNNING
    queue.let_time_pass(2 * ROUND_SECONDS)
    assert queue.views.meta(NAME)["state"] == State.PENDING, "a dead holder's slot comes back"


def test_the_start_has_as_long_as_an_operator_says(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    lengths: list[int] = []
    for number, start_seconds in enumerate((0, 1, 3_600)):
        queue.controls.change_setting("start_deadline_ms", start_seconds * 1000)
        queue.enqueue(event(f"x{number}", timeout_seconds=TIMEOUT_SECONDS))
        (grant,) = queue.transitions.admit((queue.lane,), 1).grants
        lengths.append(grant.lease_ms // 1000 - TIMEOUT_SECONDS - GRACE_SECONDS)
    assert lengths == [0, 1, 3_600]


def test_a_holder_that_renews_has_the_lease_that_it_asks_for(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x", timeout_seconds=TIMEOUT_SECONDS))
    (grant,) = queue.transitions.admit((queue.lane,), 1, lease_ms=30_000).grants
    assert grant.lease_ms == 30_000

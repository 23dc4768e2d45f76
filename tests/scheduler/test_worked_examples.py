"""The worked examples of the documents that Bandmaster was built from (docs/origins.md), played step by step."""

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.queue import ExecutionQueueService

ACTION = "core.http.get"


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On an empty server."""
    return ExecutionQueueService(redis_client)


def started(queue: ExecutionQueueService) -> list[str]:
    """What starts now."""
    found = iter(queue.try_schedule, None)
    return [execution_id for execution_id, _ in found]


def test_five_executions_of_an_action_of_two_at_once_start_in_their_order(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit(f"action:{ACTION}", 2)
    order: list[str] = []
    for name in "ABCDE":
        queue.enqueue(event(name, action=ACTION))
        order += started(queue)
    assert order == ["A", "B"]
    for ended, then in (("A", ["C"]), ("B", ["D"]), ("C", ["E"]), ("D", []), ("E", [])):
        queue.release(ended)
        assert started(queue) == then


def test_an_actions_statistics_are_those_of_one_moment(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit(f"action:{ACTION}", 2)
    for name in "ABCDE":
        queue.enqueue(event(name, action=ACTION))
    started(queue)
    queue.release("A")
    found = queue.action_statistics(ACTION)
    assert (found.queue_length, found.active_count, found.max_concurrent) == (3, 1, 2)
    assert (found.total_enqueued, found.total_completed) == (5, 1)
    assert found.oldest_enqueued_at is not None
    assert abs(found.oldest_enqueued_at - queue.views.server_time_ms()) < 60_000


def test_the_keys_and_values_are_those_that_tools_read(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    requested = event("x", priority="HIGH")
    assert queue.enqueue(requested) == 0
    score = redis_client.zscore("exec_queue:pending", "x")
    assert isinstance(score, float)
    assert abs(score - 10**12 - queue.views.server_time_ms()) < 60_000
    assert redis_client.get("exec_queue:event:x") == requested.to_json()
    assert started(queue) == ["x"]
    assert redis_client.smembers("exec_queue:active") == {b"x"}
    queue.release("x")
    assert redis_client.scard("exec_queue:active") == 0
    assert redis_client.exists("exec_queue:event:x") == 0


def test_every_method_does_what_its_name_says(queue: ExecutionQueueService) -> None:
    for name in ("first", "second", "third"):
        queue.enqueue(event(name, priority="LOW"))
    assert queue.get_queue_status() == {"queue_depth": 3, "active_count": 0}
    assert queue.get_pending_by_priority()["LOW"] == 3
    assert queue.update_priority("third", "CRITICAL")
    assert not queue.update_priority("unknown", "CRITICAL")
    assert queue.remove("second")
    taken = queue.try_schedule(max_active=1)
    assert taken is not None
    assert taken[0] == "third"
    assert queue.try_schedule(max_active=1) is None
    assert not queue.update_priority("third", "LOW"), "it waits no more"
    queue.release("third")
    assert started(queue) == ["first"]

"""D12: reprioritising races with nothing. D14, D15: limits are read where they hold, and a full gate stops nobody else.

D16: figures are read from Redis, so restarts and duplicates do not move them.
"""

from contextlib import suppress
from typing import Any

import redis

from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.simple_queue import SimpleQueue


def test_d12_what_was_just_started_is_not_added_again(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        queue.enqueue(event("x"))
        if queue is ours:
            queue.try_schedule()
            moved = queue.update_priority("x", Priority.HIGH)
        else:
            moved = queue.update_priority("x", Priority.HIGH, between=queue.try_schedule)
        return not moved and queue.get_queue_status() == {"queue_depth": 0, "active_count": 1}

    contrast(holds, simple=simple, ours=ours)


def test_d12_a_move_keeps_the_time_of_acceptance(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    simple.clock = iter(range(100)).__next__

    def holds(queue: Any) -> bool:
        for execution_id in ("first", "second"):
            queue.enqueue(event(execution_id))
        for priority in (Priority.LOW, Priority.NORMAL):
            assert queue.update_priority("first", priority)
        return queue.try_schedule()[0] == "first"

    contrast(holds, simple=simple, ours=ours)


def test_d14_a_lowered_limit_holds_at_once_on_every_replica(redis_client: redis.Redis) -> None:
    def holds(replicas: Any) -> bool:
        here, there = replicas
        for number in range(4):
            here.enqueue(event(f"e{number}"))
        here.try_schedule()
        # An operator lowers the limit to 1; `there` has loaded 10 before.
        if isinstance(here, ExecutionQueueService):
            here.controls.change_setting("max_concurrent_executions", 1)
        else:
            here.max_concurrent = 1
        there.try_schedule()
        return here.get_queue_status()["active_count"] == 1

    contrast(
        holds,
        simple=[SimpleQueue(redis_client), SimpleQueue(redis_client)],
        ours=[ExecutionQueueService(redis_client), ExecutionQueueService(redis_client)],
    )


def test_d15_the_head_of_a_limited_user_is_passed_over(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    ours.controls.set_limit("user:ann", 1)

    def holds(queue: Any) -> bool:
        for execution_id, user in (("ann-1", "ann"), ("ann-2", "ann"), ("bob-1", "bob")):
            queue.enqueue(event(execution_id, user=user))
        started = [queue.try_schedule() for _ in range(3)]
        return [one and one[0] for one in started] == ["ann-1", "bob-1", None]

    contrast(holds, simple=simple, ours=ours)
    ours.release("ann-1")
    started = ours.try_schedule()
    assert started is not None
    assert started[0] == "ann-2"


def test_d16_the_depth_survives_a_restart_and_a_duplicate(redis_client: redis.Redis) -> None:
    def holds(kind: Any) -> bool:
        before = kind(redis_client)
        for _ in range(2):
            with suppress(DuplicateExecution):
                before.enqueue(event("x"))
        depths = [before.depth_metric, kind(redis_client).depth_metric]
        return depths == [1, 1]

    class Observed(ExecutionQueueService):
        @property
        def depth_metric(self) -> int:
            return self.views.status().queue_depth

    contrast(holds, simple=SimpleQueue, ours=Observed)

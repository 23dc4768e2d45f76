"""D8: a late completion frees nobody else's slot. D9: a start that failed is tried again, whatever dies in between."""

from typing import Any

import redis

from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import Died, contrast, event, mortal
from defects.simple_queue import SimpleQueue


def test_d8_a_late_completion_of_the_first_attempt_leaves_the_seconds_slot(
    simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        queue.enqueue(event("x"))
        queue.try_schedule(1)
        if queue is ours:
            ours.retry("x", 1)
        else:
            queue.restart_failed_start(event("x"))
        queue.try_schedule(1)
        # The completion of attempt 1 arrives now; the simple queue's carries no attempt.
        if queue is ours:
            assert ours.release("x", attempt=1) is Code.STALE
        else:
            queue.release("x")
        return queue.get_queue_status()["active_count"] == 1

    contrast(holds, simple=simple, ours=ours)
    assert ours.views.meta("x")["state"] == State.RUNNING
    assert ours.release("x", attempt=2) is Code.OK


def test_d8_a_stale_grant_renews_nothing_and_hands_nothing_over(ours: ExecutionQueueService) -> None:
    ours.enqueue(event("x"))
    ours.try_schedule()
    ours.retry("x", 1)
    ours.try_schedule()
    assert [renewal.value for renewal in ours.transitions.renew([("x", 1, ""), ("x", 2, "")])] == ["STALE", "RENEWED"]
    assert ours.transitions.hand_over("x", 1, "a-pod", "uid").code is Code.STALE
    assert ours.transitions.cancel("x", outcome=State.TIMEOUT, attempt=1).code is Code.STALE
    assert ours.retry("x", 1) is Code.STALE
    assert ours.views.meta("x")["state"] == State.RUNNING
    assert "cancel" not in ours.views.meta("x")


def test_d9_a_crash_while_a_failed_start_is_put_back_loses_nothing(
    redis_client: redis.Redis, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def put_back(queue: Any) -> None:
        if isinstance(queue, ExecutionQueueService):
            queue.retry("x", 1)
        else:
            queue.restart_failed_start(event("x"))

    def holds(queue: Any) -> bool:
        queue.enqueue(event("x"))
        queue.try_schedule(1)
        for lives in (1, 2, 3):
            try:
                put_back(mortal(queue, redis_client, lives))
            except Died:
                status = queue.get_queue_status()
                if status["queue_depth"] + status["active_count"] != 1:
                    return False
        return queue.try_schedule(1) is not None

    contrast(holds, simple=simple, ours=ours)

"""D21: timeouts and cancellations free what they end. D22: a limit is never passed, and the caller is told.

D23: order never looks at payloads.
"""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis

from bandmaster.scheduler.model.errors import QueueFull, QueueRejected, UserLimitExceeded
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.heap_coordinator import HeapCoordinator, QueueRejectError


@pytest.mark.parametrize("outcome", [State.CANCELLED, State.TIMEOUT])
def test_d21_what_was_ended_gives_its_slot_to_the_next(outcome: State, redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)

    def holds(queue: Any) -> bool:
        if isinstance(queue, HeapCoordinator):
            for number in range(2):
                queue.requested({"id": f"e{number}"}, Priority.NORMAL)
            if outcome is State.CANCELLED:
                queue.cancelled("e0")  # a timeout is no event that the coordinator consumes
            return "e1" in queue.published
        for number in range(2):
            queue.enqueue(event(f"e{number}"))
        queue.try_schedule(1)
        queue.transitions.cancel("e0", outcome=outcome, attempt=1)
        queue.release("e0", 1, State.FAILED)
        started = queue.try_schedule(1)
        return started is not None and started[0] == "e1"

    contrast(holds, simple=HeapCoordinator(max_concurrent=1), ours=ours)
    assert ours.views.meta("e0")["state"] == outcome


def test_d22_two_at_once_do_not_both_take_the_last_place(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)
    ours.controls.change_setting("max_executions_per_user", 5)

    def holds(queue: Any) -> bool:
        if isinstance(queue, HeapCoordinator):
            for number in range(4):
                queue.now = number
                queue.requested({"id": f"e{number}", "user": "ann"}, Priority.NORMAL)

            def other() -> int:
                queue.now += 1
                return queue.requested({"id": "other", "user": "ann"}, Priority.NORMAL)

            queue.requested({"id": "one", "user": "ann"}, Priority.NORMAL, between=other)
            return len(queue.heap) <= 5

        def accepted(number: int) -> bool:
            try:
                queue.enqueue(event(f"e{number}", user="ann"))
            except UserLimitExceeded:
                return False
            return True

        with ThreadPoolExecutor(8) as threads:
            kept = sum(threads.map(accepted, range(40)))
        return kept == 5 and queue.get_queue_status()["queue_depth"] == 5

    contrast(holds, simple=HeapCoordinator(max_concurrent=0, max_executions_per_user=5), ours=ours)


def test_d22_whoever_is_refused_is_told_and_nothing_of_it_is_kept(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)
    ours.controls.change_setting("max_queue_size", 1)

    def holds(queue: Any) -> bool:
        told: list[type[Exception]] = []
        for number in range(2):
            try:
                # Its API said "accepted" and left the rest to a consumer, whose refusal nobody reads.
                if isinstance(queue, HeapCoordinator):
                    consume_later(queue, number)
                else:
                    queue.enqueue(event(f"e{number}"))
            except QueueRejected as error:
                told.append(type(error))
        return told == [QueueFull]

    def consume_later(queue: HeapCoordinator, number: int) -> None:
        try:
            queue.requested({"id": f"e{number}"}, Priority.NORMAL)
        except QueueRejectError:
            return

    contrast(holds, simple=HeapCoordinator(max_concurrent=0, max_queue_size=1), ours=ours)
    assert ours.views.meta("e1") == {}
    assert ours.views.event("e1") is None


def test_d23_equal_priorities_at_one_moment_compare_no_payloads(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)

    def holds(queue: Any) -> bool:
        try:
            for number in range(2):
                if isinstance(queue, HeapCoordinator):
                    queue.requested({"id": f"e{number}"}, Priority.NORMAL)
                else:
                    queue.enqueue(event(f"e{number}"))
        except TypeError:
            return False
        return True

    contrast(holds, simple=HeapCoordinator(max_concurrent=0), ours=ours)

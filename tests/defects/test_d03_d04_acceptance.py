"""D3: an execution is accepted whole, once, and never again. D4: it is not lost because its event ran out of time."""

from typing import Any

import pytest
import redis

from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import Died, contrast, event, mortal
from defects.simple_queue import SimpleQueue


def redeliver(queue: Any, execution_id: str) -> None:
    """The broker delivers the request a second time."""
    try:
        queue.enqueue(event(execution_id))
    except DuplicateExecution:
        return


def test_d3_a_redelivered_request_keeps_its_place(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    simple.clock = iter((1, 2, 3)).__next__

    def holds(queue: Any) -> bool:
        queue.enqueue(event("first"))
        queue.enqueue(event("second"))
        redeliver(queue, "first")
        return queue.try_schedule(1)[0] == "first"

    contrast(holds, simple=simple, ours=ours)


@pytest.mark.parametrize("ended", [False, True], ids=["it is active", "it has ended"])
def test_d3_a_redelivered_request_does_not_run_again(
    ended: bool, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        queue.enqueue(event("once"))
        queue.try_schedule(10)
        if ended:
            queue.release("once")
        redeliver(queue, "once")
        return queue.get_queue_status()["queue_depth"] == 0 and queue.try_schedule(10) is None

    contrast(holds, simple=simple, ours=ours)


def test_d3_a_crash_while_accepting_leaves_all_of_it_or_nothing(
    redis_client: redis.Redis, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        for lives in (1, 2, 3):
            execution_id = f"after-{lives}"
            try:
                mortal(queue, redis_client, lives).enqueue(event(execution_id))
            except Died:
                started = queue.try_schedule(10)
                if started is None and queue.get_queue_status()["active_count"] > 0:
                    return False
            queue.remove(execution_id)
        return True

    contrast(holds, simple=simple, ours=ours)


def test_d4_one_whose_event_is_gone_stops_nobody_and_holds_no_slot(
    redis_client: redis.Redis, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        queue.enqueue(event("lost"))
        queue.enqueue(event("next"))
        redis_client.delete("simple:event:lost", "exec_queue:event:lost")
        started = queue.try_schedule(1)
        return started is not None and started[0] == "next"

    contrast(holds, simple=simple, ours=ours)
    assert ours.views.meta("lost")["state"] == State.FAILED
    assert ours.views.meta("lost")["reason"] == "event_lost"
    assert "lose" in [entry.verb for entry in ours.journal.of("lost")]


def test_d4_the_event_lives_as_long_as_its_execution_waits(
    redis_client: redis.Redis, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        key = "simple:event:waits" if queue is simple else "exec_queue:event:waits"
        queue.enqueue(event("waits"))
        queue.try_schedule(0)  # the simple queue's periodic job schedules, and does nothing else
        return redis_client.ttl(key) == -1  # without a TTL, however long nobody works

    contrast(holds, simple=simple, ours=ours)

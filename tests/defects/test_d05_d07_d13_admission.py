"""D5: no crash leaks a slot. D7: nothing runs twice and is counted once. D13: "nothing" never hides something."""

from contextlib import suppress
from typing import Any

import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import read_exchange
from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import Died, contrast, event, mortal
from defects.simple_queue import SimpleQueue


def test_d5_a_crash_between_taking_the_slot_and_starting_gives_it_back(
    redis_client: redis.Redis, simple: SimpleQueue
) -> None:
    ours = TurnedQueue(redis_client)

    def holds(queue: Any) -> bool:
        queue.enqueue(event("x"))
        with suppress(Died):
            mortal(queue, redis_client, 1).try_schedule(1)
        if queue is ours:
            ours.let_time_pass(700)
        started = queue.try_schedule(1)
        return started is not None and started[0] == "x"

    contrast(holds, simple=simple, ours=ours)
    assert ours.views.meta("x")["attempt"] == "2"


def test_d5_a_lost_reply_gives_the_same_grant_when_it_is_asked_for_again(
    redis_client: redis.Redis, ours: ExecutionQueueService
) -> None:
    for execution_id in ("x", "y"):
        ours.enqueue(event(execution_id))
    call = ours.transitions.prepare_exchange((), Next((ours.lane,), 1))
    answers = [read_exchange(call.run()).admission for _ in range(3)]
    assert answers[0] == answers[1] == answers[2]
    assert [grant.execution_id for grant in answers[0].grants] == ["x"]
    assert ours.get_queue_status() == {"queue_depth": 1, "active_count": 1}


def test_d5_rounds_that_are_always_rare_give_lost_slots_back_too(redis_client: redis.Redis) -> None:
    """A queue that is asked once a minute: each round looks like one after a gap, which extends leases, but once."""
    ours = TurnedQueue(redis_client)
    ours.controls.change_setting("start_deadline_ms", 0)
    ours.enqueue(event("x", timeout_seconds=1))
    assert ours.try_schedule(1) is not None
    for _ in range(4):
        ours.clock.turn(60_000)
        started = ours.try_schedule(1)
        if started is not None:
            break
    assert ours.views.meta("x")["attempt"] == "2"


def test_d7_what_is_active_is_not_started_a_second_time(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        queue.enqueue(event("x"))
        starts = [queue.try_schedule(10)]
        with suppress(DuplicateExecution):
            queue.enqueue(event("x"))
        starts.append(queue.try_schedule(10))
        running = [started for started in starts if started is not None]
        return len(running) == queue.get_queue_status()["active_count"]

    contrast(holds, simple=simple, ours=ours)


def test_d13_one_that_cannot_be_started_does_not_end_the_drain(
    redis_client: redis.Redis, simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        for execution_id in ("unreadable", "lost", "good"):
            queue.enqueue(event(execution_id))
        for prefix in ("simple", "exec_queue"):
            redis_client.set(f"{prefix}:event:unreadable", b"{", xx=True)
            redis_client.delete(f"{prefix}:event:lost")
        started: list[str] = []
        try:
            while (one := queue.try_schedule(10)) is not None:
                started.append(one[0])
        except ValueError:
            pass
        return started == ["good"] and queue.get_queue_status()["active_count"] == 1

    contrast(holds, simple=simple, ours=ours)
    assert ours.views.meta("unreadable")["state"] == State.FAILED
    assert ours.views.dead() == ["unreadable"]


def test_d13_a_call_looks_at_a_bounded_number_and_says_that_there_is_more(ours: ExecutionQueueService) -> None:
    ours.controls.set_limit("user:*", 0)
    ours.enqueue_many([event(f"e{number}", user=f"user-{number}") for number in range(250)])
    ours.enqueue(event("free", priority="LOW"))
    looked_again = 0
    while (admission := ours.transitions.admit((ours.lane,), 1)).more:
        assert admission.grants == []
        looked_again += 1
    assert looked_again == 2
    assert [grant.execution_id for grant in admission.grants] == ["free"]

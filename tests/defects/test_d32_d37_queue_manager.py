"""D32 to D37: a queue of waiters in memory loses them, wakes too many and leaks slots; who waits in Redis does not."""

import threading
from typing import Any

import redis

from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.queue_manager import QueueManager
from waiting import GENEROUS_SECONDS, wait_until

ACTION = "core.http.get"
GATE = f"action:{ACTION}"


def send(queue: ExecutionQueueService, *names: str, action: str = ACTION) -> None:
    """Requests for one action."""
    for name in names:
        queue.enqueue(event(name, action=action))


def fill(queue: ExecutionQueueService, holder: str, *behind: str) -> None:
    """One runs under a limit of 1, and these wait behind it."""
    queue.controls.set_limit(GATE, 1)
    send(queue, holder, *behind)
    assert next_one(queue) == holder


def next_one(queue: ExecutionQueueService) -> str | None:
    """What starts now, if anything may."""
    started = queue.try_schedule()
    return None if started is None else started[0]


def test_d32_what_waits_is_known_after_its_process_has_died(
    ours: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "first", "second")
            return ExecutionQueueService(redis_client).views.pending() == ["second"]
        queue.begin(ACTION, "first", 1)
        queue.begin(ACTION, "second", 1)
        return bool(QueueManager().queues)  # another process has nothing to rebuild it from

    contrast(holds, simple=QueueManager(), ours=ours)


def test_d33_an_end_that_is_told_twice_lets_one_more_in_and_not_two(ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "a", "b", "c")
            assert [ours.release("a", 1), ours.release("a", 1)] == [Code.OK, Code.ENDED]
            return (next_one(ours), next_one(ours)) == ("b", None)
        waiters = [queue.begin(ACTION, name, 1) for name in ("a", "b", "c")]
        queue.notify_completion(ACTION)
        queue.notify_completion(ACTION)
        return not waiters[2].woken.is_set()

    contrast(holds, simple=QueueManager(), ours=ours)


def test_d34_a_consumer_does_not_wait_with_what_waits(ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "holds", "waits")
            send(ours, "other", action="other")
            return next_one(ours) == "other"
        handled: list[str] = []

        def consume() -> None:
            for action, name in ((ACTION, "holds"), (ACTION, "waits"), ("other", "other")):
                queue.enqueue_and_wait(action, name, 1)
                handled.append(name)

        consumer = threading.Thread(target=consume)
        consumer.start()
        wait_until(lambda: ACTION in queue.queues and queue.queues[ACTION].waiting, what="the one that waits")
        was_handled = "other" in handled
        queue.notify_completion(ACTION)
        consumer.join(GENEROUS_SECONDS)
        return was_handled

    contrast(holds, simple=QueueManager(), ours=ours)


def test_d35_one_that_times_out_while_it_is_woken_keeps_no_slot(ours: ExecutionQueueService) -> None:
    """As a slot does: tests/slots/test_timed_out_while_woken.py."""

    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "holds", "waits", "next")
            ours.release("holds", 1)
            assert next_one(ours) == "waits"
            ours.cancel("waits")
            ours.release("waits", 1, State.CANCELLED)
            return next_one(ours) == "next"
        queue.begin(ACTION, "holds", 1)
        waits = queue.begin(ACTION, "waits", 1)
        queue.notify_completion(ACTION)
        queue.time_out(ACTION, waits)
        return bool(queue.begin(ACTION, "next", 1).woken.is_set())

    contrast(holds, simple=QueueManager(), ours=ours)


def test_d35_a_raised_limit_starts_who_waits(ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "a", "b", "c")
            ours.controls.set_limit(GATE, 3)
            return (next_one(ours), next_one(ours)) == ("b", "c")
        waiters = [queue.begin(ACTION, name, 1) for name in ("a", "b", "c")]
        queue.queues[ACTION].max_concurrent = 3
        return all(waiter.woken.is_set() for waiter in waiters)

    contrast(holds, simple=QueueManager(), ours=ours)


def test_d36_admission_is_in_order_whatever_ends_first(ours: ExecutionQueueService) -> None:
    """The seed promises the order of completion, which nothing can keep with two slots."""
    ours.controls.set_limit(GATE, 2)
    send(ours, "a", "b", "c", "d")
    assert [next_one(ours), next_one(ours), next_one(ours)] == ["a", "b", None]
    ours.release("b", 1)
    assert [next_one(ours), next_one(ours)] == ["c", None]
    ours.release("c", 1)
    ours.release("a", 1)
    assert [next_one(ours), next_one(ours)] == ["d", None]


def test_d37_what_is_cleared_ends_and_is_counted(ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            fill(ours, "holds", "waits")
            for name in ours.views.pending():
                ours.cancel(name)
            assert ours.action_statistics(ACTION).queue_length == 0
            return ours.explain("waits").state == State.CANCELLED
        queue.begin(ACTION, "holds", 1)
        waits = queue.begin(ACTION, "waits", 1)
        queue.clear_all_queues()
        return bool(waits.woken.is_set())

    contrast(holds, simple=QueueManager(), ours=ours)

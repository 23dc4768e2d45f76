"""F19: completions twice and in any order. F20: cancel against admit, create, finish. F21: reprioritise against admit.

Whoever comes first, each execution ends once, in one state, and its slot is given back once.
"""

import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
import redis
from defects.contrast import event
from history import History
from model.dump import read_dump
from model.invariants import Invariants, left_behind

from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService

RACES = 40
LIMITS = {"action:pod": 3}


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """With room for all."""
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 1_000)
    return queue


def race(*contenders: Callable[[], Any]) -> list[Any]:
    """All begin at once; what each returns."""
    start = Barrier(len(contenders))

    def run(contender: Callable[[], Any]) -> Any:
        start.wait()
        return contender()

    with ThreadPoolExecutor(len(contenders)) as threads:
        return list(threads.map(run, contenders))


def test_f19_completions_that_come_twice_and_in_any_order_free_each_slot_once(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.set_limit("action:pod", 3)
    names = [f"e{number}" for number in range(12)]
    queue.enqueue_many([event(name) for name in names])
    draw, checker = random.Random(19), Invariants()
    reports: list[tuple[str, int, State]] = []
    while queue.views.lane_size(queue.lane):
        for grant in queue.transitions.admit((queue.lane,), 3, lease_ms=60_000).grants:
            if grant.attempt == 1 and draw.random() < 0.4:
                queue.retry(grant.execution_id, grant.attempt)
            end = draw.choice((State.COMPLETED, State.FAILED, State.TIMEOUT))
            reports += [(grant.execution_id, grant.attempt, end)] * draw.randint(1, 3)
        # Every report so far comes again, in another order: most are duplicates, some of an earlier attempt.
        draw.shuffle(reports)
        for name, attempt, end in reports:
            code = queue.release(name, attempt, end)
            assert code in (Code.OK, Code.ENDED, Code.STALE, Code.NOT_HELD)
            checker.check(read_dump(redis_client, queue.scripts.keys), one_step=False)
    history = History(1_000, LIMITS).read(queue.journal.entries())
    assert history.living() == []
    assert history.verbs["release"] == len(names)
    assert left_behind(read_dump(redis_client, queue.scripts.keys)) == {}


def cancel_against_admit(queue: ExecutionQueueService, name: str) -> None:
    _, started = race(lambda: queue.cancel(name), queue.try_schedule)
    if started is not None:
        assert queue.release(name, 1) is Code.OK


def cancel_against_creation(queue: ExecutionQueueService, name: str) -> None:
    queue.try_schedule()
    cancelled, handed = race(
        lambda: queue.cancel(name), lambda: queue.transitions.hand_over(name, 1, "a-pod", f"uid-{name}")
    )
    assert cancelled.code is handed.code is Code.OK
    # Whoever was first: either the creator is told to delete its pod, or the canceller is told which pod to delete.
    assert handed.state is State.CANCELLING or cancelled.pod_uid == f"uid-{name}"
    assert queue.views.meta(name)["state"] == State.CANCELLING
    assert queue.release(name, 1, State.FAILED) is Code.OK


def cancel_against_finish(queue: ExecutionQueueService, name: str) -> None:
    queue.try_schedule()
    queue.transitions.hand_over(name, 1, "a-pod", f"uid-{name}")
    cancelled, ended = race(lambda: queue.cancel(name), lambda: queue.release(name, 1))
    assert ended is Code.OK
    finished_first = cancelled.code is Code.ENDED
    assert queue.views.meta(name)["state"] == (State.COMPLETED if finished_first else State.CANCELLED)


@pytest.mark.parametrize("against", [cancel_against_admit, cancel_against_creation, cancel_against_finish])
def test_f20_a_cancelled_execution_ends_once(
    against: Callable[[ExecutionQueueService, str], None], queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    for number in range(RACES):
        queue.enqueue(event(f"e{number}"))
        against(queue, f"e{number}")
        assert State(queue.views.meta(f"e{number}")["state"]) in TERMINAL
        assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    History(1_000, {}).read(queue.journal.entries())
    dump = read_dump(redis_client, queue.scripts.keys)
    Invariants().check(dump)
    assert left_behind(dump) == {}


def test_f21_what_is_started_while_it_is_moved_is_not_added_again(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    for number in range(RACES):
        name = f"e{number}"
        queue.enqueue(event(name))
        moved, started = race(lambda name=name: queue.update_priority(name, Priority.LOW), queue.try_schedule)
        assert started is not None
        assert queue.views.meta(name)["band"] == str(int(Priority.LOW if moved else Priority.NORMAL))
        assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 1}
        Invariants().check(read_dump(redis_client, queue.scripts.keys))
        queue.release(name, 1)
    assert History(1_000, {}).read(queue.journal.entries()).living() == []

"""D24 to D27: a scheduler between table and Redis pushes twice, or gives up what lives; a queue in Redis does not."""

from pathlib import Path
from typing import Any

import pytest
import redis
from model.clock import turned_includes
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, Renewal
from bandmaster.scheduler.engine.maintenance import Maintenance
from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.transport.scripts import Scripts
from defects.beside_a_table import begin, due, next_one, other_process
from defects.contrast import Died, DyingClient, contrast, event
from defects.task_table import STUCK_SECONDS, TaskManager


@pytest.fixture
def simple(redis_client: redis.Redis, tmp_path: Path) -> TaskManager:
    return TaskManager(redis_client, tmp_path / "tasks.db")


@pytest.fixture
def ours(redis_client: redis.Redis) -> TurnedQueue:
    return TurnedQueue(redis_client)


def test_d24_what_is_recovered_is_queued_once(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("t"))
            begin(ours)
            ours.let_time_pass(STUCK_SECONDS + 60)  # its holder is gone; the rounds reap and promote
            return (next_one(ours), next_one(ours)) == ("t", None)
        queue.submit(1)
        queue.tick()
        queue.begin(queue.pop())
        now = queue.clock()
        queue.clock = lambda: now + STUCK_SECONDS + 60
        queue.recover()
        queue.tick()  # for it, what is PENDING and due is its own
        return bool(queue.queued() == 1)

    contrast(holds, simple=simple, ours=ours)


def test_d25_a_worker_is_never_faster_than_the_state(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("t", scheduled_at=due(ours)))
            ours.clock.turn(2_000)
            assert next_one(ours) == "t"
            return ours.views.meta("t")["state"] == State.RUNNING
        queue.submit(1)
        seen: list[str] = []
        worker = other_process(queue)
        queue.tick(before_commit=lambda: seen.append(worker.status(worker.pop() or 0)))
        return seen == ["QUEUED"]

    contrast(holds, simple=simple, ours=ours)


def test_d25_a_scheduler_that_dies_in_the_middle_queues_nothing_twice(
    simple: TaskManager, ours: TurnedQueue, redis_client: redis.Redis
) -> None:
    def dies() -> None:
        raise Died

    def holds(queue: Any) -> bool:
        if queue is ours:
            for number in range(100):
                ours.enqueue(event(f"t{number}", scheduled_at=due(ours)))
            ours.clock.turn(2_000)
            dying = DyingClient(connection_pool=redis_client.connection_pool)
            scripts = Scripts(dying, replaced_includes=turned_includes())
            ours.maintenance.wake()  # the library is loaded
            dying.lives = 1
            with pytest.raises(Died):
                Maintenance(scripts).promote()  # it never hears that it has
            ours.maintenance.promote()
            promoted = [each.execution_id for each in ours.journal.entries() if each.verb == "promote"]
            return len(promoted) == len(set(promoted)) == ours.views.status().queue_depth == 100
        for number in range(100):
            queue.submit(number)
        with pytest.raises(Died):
            queue.tick(before_commit=dies)
        other_process(queue).tick()
        return bool(queue.queued() == 100)

    contrast(holds, simple=simple, ours=ours)


def test_d26_what_was_taken_by_a_worker_that_died_at_once_comes_back(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("t"))
            begin(ours)
            ours.let_time_pass(60)
            return next_one(ours) == "t"
        queue.submit(1)
        queue.tick()
        assert queue.pop() == 1  # it dies before it marks its row
        now = queue.clock()
        queue.clock = lambda: now + 86_400
        queue.recover()
        queue.tick()
        return queue.pop() == 1

    contrast(holds, simple=simple, ours=ours)


def test_d27_a_long_task_whose_worker_lives_is_not_started_again(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("t"))
            grant = begin(ours)
            for _ in range(0, STUCK_SECONDS + 60, 10):
                ours.clock.turn(10_000)
                assert ours.transitions.renew([grant]) == [Renewal.RENEWED]
                ours.maintenance.reap()
            return next_one(ours) is None
        queue.submit(1)
        queue.tick()
        queue.begin(queue.pop())
        now = queue.clock()
        queue.clock = lambda: now + STUCK_SECONDS + 60
        queue.recover()
        return queue.pop() is None

    contrast(holds, simple=simple, ours=ours)


def test_d27_what_has_ended_stays_ended(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("t"))
            grant = begin(ours)
            ours.let_time_pass(STUCK_SECONDS)
            assert next_one(ours) == "t"
            assert ours.release("t", 2) == Code.OK
            stale = Release("t", grant.attempt, State.FAILED, grant.nonce)
            return ours.transitions.settle(stale).code != Code.OK and ours.views.meta("t")["state"] == State.COMPLETED
        queue.submit(1)
        queue.tick()
        queue.begin(queue.pop())
        now = queue.clock()
        queue.clock = lambda: now + STUCK_SECONDS + 60
        queue.recover(between=lambda: queue.finish(1))
        return queue.status(1) == "DONE"

    contrast(holds, simple=simple, ours=ours)

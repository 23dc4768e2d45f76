"""D28 to D31: beside a table, schedulers lead twice, hold up others and count by two clocks; in Redis they do not."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.ledger.book import Book
from bandmaster.ledger.consumer import Consumer
from bandmaster.ledger.database import Database
from bandmaster.ledger.schema.upgrading import upgrade
from bandmaster.scheduler.model.errors import NotLeader
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.process.leadership import Leadership
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.beside_a_table import due, next_one, other_process
from defects.contrast import contrast, event
from defects.task_table import LEADER, TaskManager

COUNT = 250
"""More than a batch of 100, and more than one page of ours."""


@pytest.fixture
def simple(redis_client: redis.Redis, tmp_path: Path) -> TaskManager:
    return TaskManager(redis_client, tmp_path / "tasks.db")


@pytest.fixture
def ours(redis_client: redis.Redis) -> TurnedQueue:
    return TurnedQueue(redis_client)


def test_d28_who_led_once_changes_nothing_any_more(
    simple: TaskManager, ours: TurnedQueue, redis_client: redis.Redis
) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            slept, leads = Leadership(ours.scripts), Leadership(ours.scripts)
            assert slept.elect()
            redis_client.delete(ours.scripts.keys.named("leader"))  # its TTL is over
            assert leads.elect()
            ours.enqueue(event("t", scheduled_at=due(ours)))
            ours.clock.turn(2_000)
            with pytest.raises(NotLeader):
                ours.maintenance.under(slept.leader_id, slept.epoch or 0).promote()
            return ours.views.meta("t")["state"] == State.SCHEDULED
        assert queue.elect()
        queue.client.delete(LEADER)  # the same
        assert other_process(queue).elect()
        queue.submit(1)
        if queue.is_leader:  # what it looked at, at the top of its loop, before it slept
            queue.tick()
        return queue.status(1) == "PENDING"

    contrast(holds, simple=simple, ours=ours)


def test_d28_who_led_once_does_not_take_the_lead_from_another(
    simple: TaskManager, ours: TurnedQueue, redis_client: redis.Redis
) -> None:
    def holds(queue: Any) -> bool:
        key = ours.scripts.keys.named("leader") if queue is ours else LEADER
        first, second = (
            (Leadership(ours.scripts), Leadership(ours.scripts)) if queue is ours else (queue, other_process(queue))
        )
        assert first.elect()
        redis_client.delete(key)
        assert second.elect()
        first.resign()
        return bool(redis_client.exists(key))

    contrast(holds, simple=simple, ours=ours)


class LookingClient(redis.Redis):
    """A client that looks, whenever Redis is asked something, whether another process could write its rows now."""

    path: Path
    asked = 0
    locked = 0

    def execute_command(self, *args: Any, **options: Any) -> Any:
        self.asked += 1
        with closing(sqlite3.connect(self.path, timeout=0, isolation_level=None)) as other:
            try:
                other.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                self.locked += 1
        answer: Any = super().execute_command(*args, **options)  # pyright: ignore[reportUnknownVariableType]
        return answer  # pyright: ignore[reportUnknownVariableType]


def test_d29_no_row_is_locked_while_redis_is_asked(
    simple: TaskManager, ours: TurnedQueue, redis_client: redis.Redis, tmp_path: Path
) -> None:
    def holds(queue: Any) -> bool:
        client = LookingClient(connection_pool=redis_client.connection_pool)
        if queue is ours:
            client.path = tmp_path / "ledger.db"
            database = Database(f"sqlite:///{client.path}")
            upgrade(database)
            looking = ExecutionQueueService(client)
            consumer = Consumer(looking, Book(database, queue="exec_queue", holder="this test"))
            assert consumer.begin()
            looking.enqueue(event("t", scheduled_at=due(ours)))
            looking.maintenance.promote()
            while consumer.step():
                pass
            database.close()
        else:
            client.path = tmp_path / "tasks.db"
            queue.client = client
            queue.submit(1)
            queue.tick()
        assert client.asked > 0
        return client.locked == 0

    contrast(holds, simple=simple, ours=ours)


def test_d30_one_round_queues_all_that_is_due(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            for number in range(COUNT):
                ours.enqueue(event(f"t{number}", scheduled_at=due(ours)))
            ours.clock.turn(2_000)
            ours.maintenance.promote()
            return ours.views.status().queue_depth == COUNT
        for number in range(COUNT):
            queue.submit(number)
        queue.tick()
        return bool(queue.queued() == COUNT)

    contrast(holds, simple=simple, ours=ours)


def test_d30_what_fails_holds_up_nothing_else(
    simple: TaskManager, ours: TurnedQueue, redis_client: redis.Redis
) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            for number in range(COUNT):
                ours.enqueue(event(f"t{number}", scheduled_at=due(ours)))
            for number in range(COUNT - 1):
                redis_client.set(ours.scripts.keys.meta(f"t{number}"), "damaged")
            ours.clock.turn(2_000)
            ours.maintenance.promote()
            return ours.views.pending() == [f"t{COUNT - 1}"]
        queue.fails = (COUNT - 1).__gt__
        for number in range(COUNT):
            queue.submit(number)
        for _ in range(5):
            queue.tick()
        return queue.pop() == COUNT - 1

    contrast(holds, simple=simple, ours=ours)


def test_d31_due_is_by_one_clock(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.clock.turn(600_000)  # the server's clock, ten minutes before that of this process
            ours.enqueue(event("t", scheduled_at=due(ours)))
            ours.clock.turn(2_000)
            return next_one(ours) == "t"
        queue.submit(1)
        scheduler = other_process(queue)
        now = queue.clock()
        scheduler.clock = lambda: now - 600 + 2
        scheduler.tick()
        return queue.pop() == 1

    contrast(holds, simple=simple, ours=ours)


def test_d31_what_asks_for_nothing_goes_before_what_asks_for_little(simple: TaskManager, ours: TurnedQueue) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            ours.enqueue(event("little", priority=Priority.LOW))
            ours.enqueue(event("plain"))
            return (next_one(ours), next_one(ours)) == ("plain", "little")
        queue.submit(1, priority="low")
        queue.submit(2)
        queue.tick()
        return (queue.pop(), queue.pop()) == (2, 1)

    contrast(holds, simple=simple, ours=ours)

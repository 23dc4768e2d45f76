"""Pauses: the time in which anything was paused that an execution has to pass is no waiting, and counts once.

A pause that is over costs nothing: no call is dearer for it.
"""

import itertools
from typing import Any

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.model.states import State

TIMEOUT_SECONDS = 3_600


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """With one execution that waits."""
    queue = TurnedQueue(redis_client)
    queue.enqueue(event("x", action="pod"))
    return queue


def waits_still(queue: TurnedQueue) -> bool:
    """Whether it has not expired yet."""
    queue.maintenance.sweep()
    return queue.views.meta("x")["state"] == State.PENDING


def wait(queue: TurnedQueue, seconds: int) -> None:
    """Let time pass."""
    queue.clock.turn(seconds * 1_000)


def test_pauses_that_overlap_count_once(queue: TurnedQueue) -> None:
    queue.controls.pause("*")
    queue.controls.pause("action:pod")
    wait(queue, 2_000)
    queue.controls.resume("*")
    queue.controls.resume("action:pod")
    wait(queue, TIMEOUT_SECONDS)
    assert waits_still(queue)
    wait(queue, 1)
    assert not waits_still(queue)


def test_pauses_that_overlap_in_part_count_from_the_first_ones_beginning_to_the_last_ones_end(
    queue: TurnedQueue,
) -> None:
    wait(queue, 100)
    queue.controls.pause("lane:executions")
    wait(queue, 1_000)
    queue.controls.pause("action:pod")
    wait(queue, 1_000)
    queue.controls.resume("lane:executions")
    wait(queue, 1_000)
    queue.controls.pause("*")  # lasts still
    queue.controls.resume("action:pod")
    wait(queue, 1_000)
    queue.controls.pause("action:another")
    assert waits_still(queue)
    queue.controls.resume("*")
    wait(queue, TIMEOUT_SECONDS - 100)
    assert waits_still(queue)
    wait(queue, 1)
    assert not waits_still(queue)


def test_a_pause_counts_from_the_beginning_of_the_wait(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.pause("action:pod")
    wait(queue, 1_000)
    queue.enqueue(event("x", action="pod"))
    wait(queue, 500)
    queue.controls.resume("action:pod")
    wait(queue, TIMEOUT_SECONDS)
    assert waits_still(queue)
    wait(queue, 1)
    assert not waits_still(queue)


def test_pauses_that_are_over_have_a_time_to_live_and_are_as_many_as_are_kept(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for _ in range(1_010):
        queue.controls.pause("action:pod")
        queue.clock.turn(1)
        queue.controls.resume("action:pod")
    key = queue.scripts.keys.pauses("action:pod")
    assert redis_client.zcard(key) == 1_000
    assert 0 < int(redis_client.ttl(key)) <= 30 * 86_400  # type: ignore[arg-type]
    assert queue.controls.paused() == {}


def test_a_pause_that_is_over_makes_no_call_dearer(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)

    def commands() -> int:
        stats: Any = redis_client.info("commandstats")
        return sum(each["calls"] for each in stats.values())

    def cost_of_one() -> int:
        name = str(next(names))
        before = commands()
        queue.enqueue(event(name))
        assert queue.try_schedule() is not None
        queue.release(name)
        return commands() - before

    def least_cost() -> int:
        """Once a second one costs more: it notes when the lane last moved."""
        return min(cost_of_one() for _ in range(5))

    names = itertools.count()
    cost = least_cost()
    queue.controls.pause()
    queue.clock.turn(10)
    queue.controls.resume()
    assert least_cost() == cost
    assert not redis_client.hexists("exec_queue:settings", "paused")


def test_very_many_pauses_make_no_call_long_and_nothing_is_passed_over(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    for number in range(59):
        queue.enqueue(event(f"y{number}", action="pod"))
    began = queue.clock.now_ms
    pauses = {str(began + 100 * number): began + 100 * number + 50 for number in range(1_000)}
    redis_client.zadd("exec_queue:pauses:action:pod", pauses)  # as that many resumptions leave them
    wait(queue, TIMEOUT_SECONDS + 1)
    redis_client.config_resetstat()
    assert queue.maintenance.sweep() == 0, "the time of the pauses is none of waiting"
    stats: Any = redis_client.info("commandstats")
    assert stats["cmdstat_fcall"]["calls"] >= 10, "each looks at a few, for each has a thousand pauses to count"
    wait(queue, 50)
    assert queue.maintenance.sweep() == 60

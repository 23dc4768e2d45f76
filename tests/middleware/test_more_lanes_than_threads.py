"""A worker with more lanes than threads: idle it hardly asks, and no lane takes a thread from one that has work."""

import threading
import time
from collections.abc import Callable
from typing import cast

import dramatiq
import pytest
import redis
from counting import calls
from dramatiq import Actor
from working import running

from bandmaster import BandedRedisBroker
from waiting import wait_until

THREADS = 4
LANES = 20
IDLE_CALLS = 6
ASKING = ("fcall", "blpop", "blmove")
"""What a worker's own consumers send while they have nothing to do, beside Dramatiq's look into each list."""


def lanes_of(count: int, body: Callable[..., None]) -> "list[Actor[..., None]]":
    """Gated actors, each with a lane of its own."""
    declare = cast("Callable[..., Actor[..., None]]", dramatiq.actor)  # its overloads know no options as a whole
    return [declare(body, actor_name=f"work-{n}", queue_name=f"lane-{n}", band="NORMAL") for n in range(count)]


@pytest.mark.parametrize(("threads", "lanes"), [(1, 3), (8, 30)])
def test_an_idle_worker_asks_once_a_second_for_all_of_its_lanes(
    broker: BandedRedisBroker, redis_client: redis.Redis, threads: int, lanes: int
) -> None:
    ran: list[int] = []
    actors = lanes_of(lanes, ran.append)
    with running(broker, threads=threads, timeout_ms=1000):
        for number, actor in enumerate(actors):
            actor.send(number)
        wait_until(lambda: len(ran) == lanes, what="each lane has run something")
        views, keys = broker.queue.views, broker.queue.scripts.keys
        wait_until(lambda: not any(views.lane_size(each.queue_name) for each in actors), what="their settlement")
        redis_client.delete(*(keys.wake(each.queue_name) for each in actors))
        before, began = calls(redis_client, *ASKING), time.monotonic()
        wait_until(lambda: calls(redis_client, *ASKING) >= before + IDLE_CALLS, what="some idle calls")
        asked = calls(redis_client, *ASKING) - before
        seconds = time.monotonic() - began
    # Each second one wait and one admission, whatever the lanes; the bound allows for a few times as many.
    assert asked <= 3 * 2 * seconds


def test_a_busy_lane_gets_all_threads_beside_idle_ones(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    crowd = Crowd()
    actors = lanes_of(LANES, crowd.work)
    jobs = 60 * THREADS
    with running(broker, threads=THREADS):
        before = calls(redis_client, "fcall")
        broker.send_many([actors[7].message() for _ in range(jobs)])
        wait_until(lambda: crowd.ended == jobs, what="all jobs")
        asked = calls(redis_client, "fcall") - before
    assert crowd.most == THREADS
    # One call to settle each and to admit the next; empty ones would come in between by the hundred.
    assert asked < 2 * jobs


def test_all_threads_work_when_all_lanes_have_work(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    crowd = Crowd()
    actors = lanes_of(LANES, crowd.work)
    before = calls(redis_client, "fcall")
    broker.send_many([actor.message() for _ in range(10) for actor in actors])
    with running(broker, threads=THREADS):
        wait_until(lambda: crowd.ended == 10 * LANES, what="all jobs")
    asked = calls(redis_client, "fcall") - before
    assert crowd.most == THREADS
    assert asked < 2 * 10 * LANES


class Crowd:
    """Bodies of 10 ms, and how many of them run at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self.most = 0
        self.ended = 0

    def work(self) -> None:
        """The body."""
        with self._lock:
            self._running += 1
            self.most = max(self.most, self._running)
        wait_until(lambda: self.most >= THREADS, what="one for each thread")
        time.sleep(0.01)  # the job itself, not a wait for something
        with self._lock:
            self._running -= 1
            self.ended += 1

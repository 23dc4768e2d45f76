"""Producers that know nothing of lanes put gated messages into Dramatiq's lists: they are parked, whatever goes on."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import dramatiq
import pytest
from dramatiq.brokers.redis import RedisBroker
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.worker.lane_consumer import LaneConsumer
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

MANY = 200
THREADS = 4
LONG_SECONDS = 0.1
"""What a consumer rests for when it knows of nothing to do is longer."""


@pytest.fixture
def producer(redis_url: str) -> Iterator[RedisBroker]:
    """Another service's broker, which was not swapped."""
    broker = RedisBroker(client=client_of(redis_url))
    yield broker
    broker.close()


def send_plainly(producer: RedisBroker, actor_name: str, *numbers: int, **options: Any) -> None:
    """Send as that service does."""
    for number in numbers:
        producer.enqueue(
            dramatiq.Message(
                queue_name="default", actor_name=actor_name, args=(number,), kwargs={}, options=dict(options)
            )
        )


class Holding:
    """Bodies that hold the worker's threads until they are let go."""

    def __init__(self) -> None:
        self.held = threading.Semaphore(0)
        self._go_on = threading.Event()

    def body(self) -> None:
        self.held.release()
        self._go_on.wait(60)

    def wait_until_all_are_held(self) -> None:
        for _ in range(THREADS):
            assert self.held.acquire(timeout=GENEROUS_SECONDS)

    def let_go(self) -> None:
        self._go_on.set()


@pytest.fixture
def holding() -> Iterator[Holding]:
    """Let go at the end, come what may."""
    made = Holding()
    yield made
    made.let_go()


Declare = Callable[..., Any]
declare: Declare = dramatiq.actor


@pytest.mark.parametrize("held_by", ["gated", "ungated here", "ungated elsewhere"])
def test_a_list_is_parked_at_once_while_all_threads_are_busy(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    producer: RedisBroker,
    holding: Holding,
    held_by: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ran: list[int] = []
    rests: list[float] = []
    seconds_to_wait: Any = vars(LaneConsumer)["_seconds_to_wait"].fget

    def noted(consumer: LaneConsumer) -> float:
        rests.append(seconds_to_wait(consumer))
        return rests[-1]

    monkeypatch.setattr(LaneConsumer, "_seconds_to_wait", property(noted))
    declare(ran.append, actor_name="work", band="NORMAL")
    options = {"gated": {"band": "CRITICAL"}, "ungated here": {}, "ungated elsewhere": {"queue_name": "other"}}
    hold = declare(holding.body, actor_name="hold", **options[held_by])
    with running(broker, threads=THREADS, timeout_ms=1000) as worker:
        for _ in range(THREADS):
            hold.send()
        holding.wait_until_all_are_held()
        rests.clear()
        send_plainly(producer, "work", *range(MANY))
        wait_until(lambda: queue.get_queue_status()["queue_depth"] == MANY, what="all are parked")
        long_rests = sum(seconds > LONG_SECONDS for seconds in [*rests])
        holding.let_go()
        broker.join("default", timeout=GENEROUS_MS)
    assert sorted(ran) == list(range(MANY))
    assert long_rests < MANY / worker.queue_prefetch / 2, "it rests before it fetches the next"


def rejections(queue: ExecutionQueueService) -> int:
    return sum(entry.verb == "reject" for entry in queue.journal.entries())


def test_while_the_lane_is_full_few_wait_in_the_worker_and_the_journal_is_quiet(
    broker: BandedRedisBroker, queue: ExecutionQueueService, producer: RedisBroker, holding: Holding
) -> None:
    queue.controls.change_setting("max_queue_size", 10)
    ran: list[int] = []
    declare(ran.append, actor_name="work", band="NORMAL")
    hold = declare(holding.body, actor_name="hold", band="CRITICAL")
    with running(broker, threads=THREADS) as worker:
        for _ in range(THREADS):
            hold.send()
        holding.wait_until_all_are_held()
        send_plainly(producer, "work", *range(MANY))
        wait_until(lambda: rejections(queue) > 0, what="the lane is full")
        began = time.monotonic()
        wait_until(lambda: time.monotonic() - began > 3.0, what="some seconds")
        fetched: Any = broker.plain_client.llen("dramatiq:default")
        unparked = broker.process.backlog("default").unparked
        assert 0 < len(unparked) <= worker.queue_prefetch
        assert fetched >= MANY - 10 - worker.queue_prefetch
        assert rejections(queue) <= 2
        holding.let_go()
        broker.join("default", timeout=60_000)
    assert sorted(ran) == list(range(MANY))
    assert rejections(queue) <= 10


def test_ungated_ones_behind_those_that_find_the_lane_full_run(
    broker: BandedRedisBroker, queue: ExecutionQueueService, producer: RedisBroker
) -> None:
    queue.controls.change_setting("max_queue_size", 5)
    queue.controls.pause("action:work")
    ran: list[int] = []
    other: list[int] = []
    declare(ran.append, actor_name="work", band="NORMAL")
    declare(other.append, actor_name="ungated")
    send_plainly(producer, "work", *range(60))
    send_plainly(producer, "ungated", 1, 2, 3)
    with running(broker, threads=THREADS):
        wait_until(lambda: len(other) == 3, what="the ungated ones run")
        assert ran == []
        queue.controls.resume("action:work")
        broker.join("default", timeout=60_000)
    assert sorted(ran) == list(range(60))
    assert other == [1, 2, 3]


def test_one_user_at_the_limit_holds_up_no_other(
    broker: BandedRedisBroker, queue: ExecutionQueueService, producer: RedisBroker
) -> None:
    queue.controls.change_setting("max_executions_per_user", 1)
    queue.controls.pause("user:ann")
    ran: list[int] = []
    declare(ran.append, actor_name="work", band="NORMAL")
    send_plainly(producer, "work", 0, 1, 2, user_id="ann")
    send_plainly(producer, "work", 3, 4, user_id="bob")
    with running(broker, threads=1):
        wait_until(lambda: ran == [3, 4] or len(ran) > 1, what="the other user's run")
        assert sorted(ran) == [3, 4]
        queue.controls.resume("user:ann")
        broker.join("default", timeout=60_000)
    assert sorted(ran) == [0, 1, 2, 3, 4]
    assert rejections(queue) < 12

"""A queue's last gated actor is ungated by a new release: what was parked before still runs, and nothing runs twice."""

import threading
from collections.abc import Callable, Iterator
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Actor
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import ResultFailure, Results
from dramatiq.results.backends import RedisBackend
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until

MakeBroker = Callable[[], BandedRedisBroker]
JOIN_MS = 20_000


@pytest.fixture
def make_broker(redis_url: str, queue: ExecutionQueueService) -> Iterator[MakeBroker]:
    """Makes the broker of one release."""
    made: list[BandedRedisBroker] = []

    def make() -> BandedRedisBroker:
        broker = BandedRedisBroker(client=client_of(redis_url))
        broker.emit_after("process_boot")
        made.append(broker)
        return broker

    yield make
    for broker in made:
        broker.close()


def work_of(broker: BandedRedisBroker, body: Callable[[int], None], **options: Any) -> "Actor[..., Any]":
    """The actor, as a release declares it."""
    declare: Any = dramatiq.actor
    actor: Actor[..., Any] = declare(body, broker=broker, actor_name="work", min_backoff=20, max_backoff=20, **options)
    return actor


def test_what_was_parked_runs_once_in_its_order_and_join_returns(
    make_broker: MakeBroker, queue: ExecutionQueueService
) -> None:
    ran: list[int] = []
    before = work_of(make_broker(), ran.append, band="NORMAL")
    for number in range(5):
        before.send_with_options(args=(number,), band="HIGH" if number == 3 else "NORMAL")
    before.send_with_options(args=(5,), delay=200)

    now = make_broker()
    after = work_of(now, ran.append)
    with running(now, threads=1):
        now.join("default", timeout=JOIN_MS)
        assert ran == [3, 0, 1, 2, 4, 5]
        after.send(6)
        now.join("default", timeout=JOIN_MS)
    assert ran == [3, 0, 1, 2, 4, 5, 6]
    assert queue.views.active() == []


def test_once_nothing_is_parked_any_more_a_plain_broker_takes_over(
    make_broker: MakeBroker, queue: ExecutionQueueService, redis_url: str
) -> None:
    ran: list[int] = []
    work_of(make_broker(), ran.append, band="NORMAL").send_with_options(args=(0,), delay=200)
    now = make_broker()
    after = work_of(now, ran.append)
    with running(now):
        wait_until(lambda: ran == [0] and not queue.views.lane_size("default"), what="what was parked has run")
    after.send(1)
    after.send_with_options(args=(2,), delay=200)
    plain: Any = RedisBroker(client=client_of(redis_url))
    work_of(plain, ran.append)
    with running(plain):
        wait_until(lambda: sorted(ran) == [0, 1, 2], what="the plain broker runs the rest")
    plain.close()


def test_a_retry_of_what_was_parked_runs_once(make_broker: MakeBroker) -> None:
    ran: list[int] = []

    def fails_first(number: int) -> None:
        ran.append(number)
        if len(ran) == 1:
            raise ValueError("the first time")

    work_of(make_broker(), fails_first, band="NORMAL").send(1)
    now = make_broker()
    work_of(now, fails_first)
    with running(now):
        now.join("default", timeout=JOIN_MS)
        wait_until(lambda: now.process.permits.free == 4, what="every permit is back")
    assert ran == [1, 1]


def test_limits_hold_for_what_was_parked(make_broker: MakeBroker, queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("action:work", 1)
    running_now: list[int] = []
    most: list[int] = []
    lock = threading.Lock()

    def body(number: int) -> None:
        with lock:
            running_now.append(number)
            most.append(len(running_now))
        threading.Event().wait(0.02)
        with lock:
            running_now.remove(number)

    before = work_of(make_broker(), body, band="NORMAL")
    for number in range(6):
        before.send(number)
    now = make_broker()
    work_of(now, body)
    with running(now):
        now.join("default", timeout=JOIN_MS)
    assert (len(most), max(most)) == (6, 1)


def test_what_an_older_producer_parks_later_runs_too(make_broker: MakeBroker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bandmaster.middleware.worker.left_over.LOOK_SECONDS", 0.1)
    ran: list[int] = []
    before = work_of(make_broker(), ran.append, band="NORMAL")
    now = make_broker()
    after = work_of(now, ran.append)
    with running(now):
        after.send(0)
        now.join("default", timeout=JOIN_MS)
        before.send(1)
        now.join("default", timeout=JOIN_MS)
        after.send(2)
        now.join("default", timeout=JOIN_MS)
    assert ran == [0, 1, 2]


def test_who_sent_what_ended_before_is_told(
    make_broker: MakeBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    def make() -> BandedRedisBroker:
        broker = make_broker()
        broker.add_middleware(Results(backend=RedisBackend(client=redis_client)))
        return broker

    old, now = make(), make()
    sent = work_of(old, print, band="NORMAL", store_results=True).send(1)
    queue.cancel(sent.message_id)
    assert queue.views.lane_size("default") == 0
    work_of(now, print, store_results=True)
    with running(now), pytest.raises(ResultFailure, match="ExecutionCancelled"):
        sent.get_result(backend=RedisBackend(client=redis_client), block=True, timeout=JOIN_MS)
    assert queue.views.untold("default") == 0

"""Grants that cannot be read or come with a lost answer, and what an earlier worker still runs: no permit is lost."""

import threading

import dramatiq
import pytest
import redis
from dramatiq import Worker
from proxy import Loss, calls, proxy_before
from working import WORKER_TIMEOUT_MS, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until


def test_a_grant_whose_retries_cannot_be_read_is_a_dead_letter_and_takes_no_thread(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    bad = work.send_with_options(args=(1,), retries="many")
    with running(broker, threads=1):
        work.send(2)
        broker.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: broker.process.permits.free == 1, what="every permit is back")
    assert ran == [2]
    assert queue.views.dead() == [bad.message_id]


def test_one_grant_that_cannot_be_read_takes_none_of_the_others_with_it(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    for number in range(3):
        work.send(number)
    bad = work.send_with_options(args=(9,), retries=float("inf"))  # too large for any whole number
    with running(broker, threads=4):
        broker.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: broker.process.permits.free == 4, what="every permit is back")
    assert sorted(ran) == [0, 1, 2]
    assert queue.views.dead() == [bad.message_id]


def test_an_admission_that_came_with_a_lost_answer_is_started_when_the_answer_is_asked_for_again(
    redis_url: str, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    ran: list[str] = []
    with proxy_before(redis_url) as proxy, redis.Redis.from_url(proxy.url) as far:
        broker = BandedRedisBroker(client=far, deadline_seconds=1.0)  # a busy machine takes 0.2 s for a send

        @dramatiq.actor(broker=broker, band="HIGH")
        def work(name: str) -> None:
            ran.append(name)
            if name == "first":
                proxy.lose_reply(lambda command: calls(command, "exchange") and b"COMPLETED" in command, Loss.SILENT)

        queue = ExecutionQueueService(redis_client)
        for name in ("first", "second"):
            work.send(name)
        with running(broker, threads=1):
            wait_until(lambda: "will be retried" in caplog.text, what="a settlement that is given up for now")
            # The first has ended for Redis, and the heartbeat is told that its grant is stale.
            broker.process._heartbeat.beat()  # pyright: ignore[reportPrivateUsage]  # its interval is 10 s
            proxy.lose_reply(lambda _: False)
            broker.join("default", timeout=GENEROUS_MS)
        broker.close()
    assert ran == ["first", "second"]
    assert [entry.verb for entry in queue.journal.entries() if entry.verb in ("admit", "reap")] == ["admit", "admit"]


def test_what_an_earlier_worker_still_runs_takes_no_thread_of_the_next(
    broker: BandedRedisBroker,
) -> None:
    begun, may_end = threading.Event(), threading.Event()
    ran: list[str] = []

    @dramatiq.actor(band="HIGH", max_retries=0)
    def work(name: str) -> None:
        if name == "long":
            begun.set()
            may_end.wait(GENEROUS_SECONDS)
        ran.append(name)

    earlier = Worker(broker, worker_timeout=WORKER_TIMEOUT_MS, worker_threads=1)
    earlier.start()
    work.send("long")
    assert begun.wait(GENEROUS_SECONDS)
    earlier.stop(timeout=100)
    with running(broker, threads=1):
        work.send("next")
        wait_until(lambda: ran == ["next"], what="the next worker has its thread")
        may_end.set()
        wait_until(lambda: ran == ["next", "long"], what="the body of the earlier one ends")
        assert broker.process.permits.free <= 1
        wait_until(lambda: broker.process.permits.free == 1, what="every permit is back, and none twice")

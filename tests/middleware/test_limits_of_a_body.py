"""What ends a body before its time: cancellation, a time limit, an age limit, the worker's shutdown, a lost lease."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message
from dramatiq.brokers.stub import StubBroker
from dramatiq.middleware import (
    AgeLimit,
    AsyncIO,
    Callbacks,
    Middleware,
    Pipelines,
    Retries,
    ShutdownNotifications,
    TimeLimit,
)
from dramatiq.results import ResultFailure, Results
from dramatiq.results.backends import RedisBackend
from working import running

from bandmaster import BandedRedisBroker, ExecutionCancelled, ExecutionQueueService
from bandmaster.middleware.grants.context import current_entry
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

SHORT_LEASE_MS = 3_000


@pytest.fixture
def short(redis_url: str, queue: ExecutionQueueService) -> Iterator[BandedRedisBroker]:
    """A broker with short leases, which looks for time limits often."""
    middleware: list[Middleware] = [
        AgeLimit(),
        TimeLimit(interval=20),
        ShutdownNotifications(),
        Callbacks(),
        Pipelines(),
        Retries(),
    ]
    broker = BandedRedisBroker(client=client_of(redis_url), middleware=middleware, lease_ttl_ms=SHORT_LEASE_MS)
    queue.controls.change_setting("lease_ttl_ms", SHORT_LEASE_MS)
    dramatiq.set_broker(broker)
    broker.emit_after("process_boot")
    yield broker
    broker.close()
    dramatiq.set_broker(StubBroker())


def spin(seconds: float = 20.0) -> None:
    """Python code that runs until it is interrupted."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        pass


def test_a_body_whose_execution_is_cancelled_is_interrupted_and_not_tried_again(
    short: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    short.add_middleware(Results(backend=RedisBackend(client=redis_client)))
    seen: list[type[BaseException]] = []
    begun = threading.Event()
    looked = threading.Event()

    @dramatiq.actor(band="HIGH", store_results=True, min_backoff=1)
    def work() -> None:
        begun.set()
        try:
            spin()
        except BaseException as interrupt:
            seen.append(type(interrupt))
            assert looked.wait(GENEROUS_SECONDS)
            raise

    sent = work.send()
    with running(short):
        assert begun.wait(GENEROUS_SECONDS)
        queue.cancel(sent.message_id)
        assert queue.views.meta(sent.message_id)["state"] == State.RUNNING, "its slot is held until it has ended"
        looked.set()
        short.join("default", timeout=GENEROUS_MS)
        with pytest.raises(ResultFailure, match="ExecutionCancelled"):
            sent.get_result(block=True, timeout=GENEROUS_MS)
    assert seen == [ExecutionCancelled]
    assert queue.views.meta(sent.message_id)["state"] == State.CANCELLED
    assert queue.views.meta(sent.message_id)["attempt"] == "1"


def test_an_async_body_is_interrupted_too_and_leaves_no_traceback(
    short: BandedRedisBroker, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    short.add_middleware(AsyncIO())
    begun = threading.Event()

    @dramatiq.actor(band="HIGH")
    async def work() -> None:
        begun.set()
        await asyncio.sleep(20)

    sent = work.send()
    with running(short):
        assert begun.wait(GENEROUS_SECONDS)
        queue.cancel(sent.message_id)
        short.join("default", timeout=GENEROUS_MS)
    assert queue.views.meta(sent.message_id)["state"] == State.CANCELLED
    assert [record.getMessage() for record in caplog.records if record.exc_info or record.levelname == "ERROR"] == []


def test_a_body_that_completes_all_the_same_has_completed(
    short: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    begun = threading.Event()

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        begun.set()
        with suppress(ExecutionCancelled):  # what it was doing had to be finished
            spin()

    sent = work.send()
    with running(short):
        assert begun.wait(GENEROUS_SECONDS)
        queue.cancel(sent.message_id)
        short.join("default", timeout=GENEROUS_MS)
    assert queue.views.meta(sent.message_id)["state"] == State.COMPLETED


def test_a_time_limit_ends_the_attempt(short: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    runs: list[int] = []

    @dramatiq.actor(band="HIGH", time_limit=60, max_retries=1, min_backoff=1, max_backoff=2)
    def work() -> None:
        runs.append(1)
        spin()

    sent = work.send()
    with running(short):
        short.join("default", timeout=GENEROUS_MS)
    assert len(runs) == 2
    meta = queue.views.meta(sent.message_id)
    assert (meta["state"], meta["reason"]) == (State.FAILED, "TimeLimitExceeded")


def test_a_message_that_is_too_old_does_not_run(short: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    runs: list[int] = []

    @dramatiq.actor(band="HIGH", max_age=1)
    def work() -> None:
        runs.append(1)

    sent = work.send_with_options(delay=20)
    with running(short):
        short.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: short.process.permits.free == 4, what="every permit is back")
    assert runs == []
    end = queue.journal.of(sent.message_id)[-1]
    assert (end.fields["state"], end.fields["reason"]) == (State.EXPIRED, "max_age")


@pytest.mark.parametrize("keep_unrun", [False, True], ids=["it is gone", "it is kept"])
def test_a_message_whose_age_runs_out_between_its_grant_and_its_body_expires(
    keep_unrun: bool, short: BandedRedisBroker, queue: ExecutionQueueService, redis_url: str
) -> None:
    short.add_middleware(Results(backend=RedisBackend(client=client_of(redis_url))))
    runs: list[int] = []

    @dramatiq.actor(band="HIGH", store_results=True, keep_unrun=keep_unrun)
    def work() -> None:
        runs.append(1)

    # Its producer made it before it waited in a list: by its own time it is too old as soon as it is accepted.
    old = Message[Any](
        queue_name="default",
        actor_name=work.actor_name,
        args=(),
        kwargs={},
        options={"max_age": 60_000},
        message_timestamp=int(time.time() * 1000) - 60_000,
    )
    sent = short.enqueue(old)
    with running(short):
        short.join("default", timeout=GENEROUS_MS)
    assert runs == []
    end = queue.journal.of(sent.message_id)[-1]
    assert (end.verb, end.fields["state"], end.fields["reason"]) == ("release", State.EXPIRED, "max_age")
    assert queue.views.dead() == ([sent.message_id] if keep_unrun else [])
    with pytest.raises(ResultFailure, match="SkipMessage: Message age limit exceeded"):
        sent.get_result(block=True, timeout=GENEROUS_MS)


def test_a_body_that_is_notified_of_the_shutdown_is_tried_again_elsewhere(
    short: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    begun = threading.Event()

    @dramatiq.actor(band="HIGH", notify_shutdown=True, min_backoff=60_000)
    def work() -> None:
        begun.set()
        spin()

    sent = work.send()
    with running(short):
        assert begun.wait(GENEROUS_SECONDS)
    assert queue.views.meta(sent.message_id)["state"] == State.SCHEDULED


def test_a_long_body_keeps_its_grant(short: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    runs: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        runs.append(1)
        entry, began = current_entry(), time.monotonic()
        assert entry is not None
        wait_until(lambda: entry.deadline > began + 2 * SHORT_LEASE_MS / 1000, what="renewals beyond its first lease")

    sent = work.send()
    with running(short):
        short.join("default", timeout=GENEROUS_MS)
    assert len(runs) == 1
    assert queue.views.meta(sent.message_id)["attempt"] == "1"


def test_renewals_are_as_long_as_this_worker_counts_on_whatever_the_setting_says(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    """The local deadline must never lie behind the one in Redis, or two would run at once."""
    queue.controls.change_setting("lease_ttl_ms", 1_000)

    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    sent = work.send()
    (grant,) = broker.queue.transitions.admit(("default",), 1, lease_ms=30_000).grants
    entry = broker.gate.held.add(grant, time.monotonic())
    before_ms = queue.views.server_time_ms()
    broker.process._heartbeat.beat()  # pyright: ignore[reportPrivateUsage]  # its interval is 10 s
    ((lease, lease_ms),) = broker.plain_client.zrange(queue.scripts.keys.named("lease"), 0, -1, withscores=True)
    assert lease.startswith(sent.message_id.encode())
    left_in_redis = (lease_ms - queue.views.server_time_ms()) / 1000
    assert entry.deadline - time.monotonic() <= left_in_redis + 0.05
    assert lease_ms >= before_ms + 30_000


def test_a_grant_that_redis_calls_stale_is_lost_at_the_next_renewal(
    short: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    begun, go_on = threading.Event(), threading.Event()

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        begun.set()
        go_on.wait(GENEROUS_SECONDS)

    sent = work.send()
    with running(short):
        assert begun.wait(GENEROUS_SECONDS)
        (entry,) = short.gate.held.all()
        queue.remove(sent.message_id)
        wait_until(lambda: entry.lost, what="the heartbeat is told")
        go_on.set()
        wait_until(lambda: short.process.permits.free == 4, what="every permit is back")
    assert queue.views.meta(sent.message_id)["state"] == State.CANCELLED

"""A worker's life: pause and resume, shutdown, threads that die, consumers that are replaced."""

import gc
import threading
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message, Worker
from dramatiq.threading import raise_thread_exception  # pyright: ignore[reportUnknownVariableType]
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

# Python drops an exception that comes while a destructor or a callback runs; `kill` raises it again.
pytestmark = pytest.mark.filterwarnings("ignore:(?s).*SystemExit:pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def other(redis_url: str, broker: BandedRedisBroker) -> Iterator[BandedRedisBroker]:
    """The broker of another process, as far as Redis can tell."""
    other = BandedRedisBroker(client=client_of(redis_url))
    yield other
    other.close()


def pause_threads(worker: Worker) -> None:
    """Let the worker's threads begin nothing, while its consumers go on."""
    for thread in worker.workers:
        thread.pause()
    for thread in worker.workers:
        assert thread.paused_event.wait(GENEROUS_SECONDS)


def is_granted(queue: ExecutionQueueService, message: "Message[Any]") -> bool:
    return queue.views.meta(message.message_id)["state"] == State.RUNNING


def test_a_paused_worker_admits_nothing_and_another_does(
    broker: BandedRedisBroker, other: BandedRedisBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.05)
    ran_on: list[str] = []

    @dramatiq.actor(band="HIGH", broker=broker)
    def work() -> None:
        ran_on.append("first")

    @dramatiq.actor(actor_name="work", band="HIGH", broker=other)
    def work_elsewhere() -> None:
        ran_on.append("second")

    with running(broker) as worker:
        work.send()
        broker.join("default", timeout=GENEROUS_MS)
        worker.pause()
        work.send()
        with running(other):
            other.join("default", timeout=GENEROUS_MS)
        worker.resume()
        work.send()
        broker.join("default", timeout=GENEROUS_MS)
    assert ran_on == ["first", "second", "first"]


def test_what_has_not_begun_is_handed_back_by_a_pause(
    broker: BandedRedisBroker, queue: ExecutionQueueService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.05)
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        ran.append(1)

    with running(broker, threads=1) as worker:
        pause_threads(worker)
        sent = work.send()
        wait_until(lambda: is_granted(queue, sent), what="it is granted")
        worker.pause()
        wait_until(lambda: not is_granted(queue, sent), what="it is handed back")
        assert queue.views.meta(sent.message_id)["state"] == State.PENDING
        wait_until(lambda: broker.process.permits.free == 1, what="its permit is back")
        worker.resume()
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == [1]


def test_a_worker_that_stops_hands_back_what_has_not_begun_and_settles_what_has(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    begun, go_on = threading.Event(), threading.Event()
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        begun.set()
        go_on.wait(GENEROUS_SECONDS)
        ran.append(number)

    worker = Worker(broker, worker_timeout=100, worker_threads=2)
    worker.start()
    first = work.send(1)
    assert begun.wait(GENEROUS_SECONDS)
    idle = [thread for thread in worker.workers if thread.ident != broker.gate.held.all()[0].thread_id]
    idle[0].pause()
    assert idle[0].paused_event.wait(GENEROUS_SECONDS)
    second = work.send(2)
    wait_until(lambda: is_granted(queue, second), what="it is granted")
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    wait_until(lambda: not is_granted(queue, second), what="it is handed back while the first runs on")
    third = work.send(3)
    assert is_granted(queue, first)
    go_on.set()
    stopping.join(GENEROUS_SECONDS)
    assert ran == [1]
    states = [queue.views.meta(each.message_id)["state"] for each in (first, second, third)]
    assert states == [State.COMPLETED, State.PENDING, State.PENDING]
    assert "crashes" not in queue.views.meta(second.message_id), "it costs nothing"
    assert queue.views.active() == []


def test_a_second_worker_of_the_same_broker_starts_afresh(broker: BandedRedisBroker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    for number in range(3):
        work.send(number)
        with running(broker, threads=number + 1):
            broker.join("default", timeout=GENEROUS_MS)
            wait_until(lambda n=number: broker.process.permits.free == n + 1, what="every permit is back")
    assert ran == [0, 1, 2]


def kill(threads: list[Any]) -> None:
    """End threads by an exception that nobody expects."""
    for thread in threads:
        raise_thread_exception(thread.ident, SystemExit)
    for thread in threads:
        thread.join(5)
        while thread.is_alive():
            raise_thread_exception(thread.ident, SystemExit)
            thread.join(5)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_threads_that_die_are_replaced(broker: BandedRedisBroker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    with running(broker, threads=1) as worker:
        heartbeat = broker.process._heartbeat.rounds  # pyright: ignore[reportPrivateUsage]
        pump = broker.process._pumping  # pyright: ignore[reportPrivateUsage]
        # A thread that dies while it connects leaves its socket to the collector: let all have connected.
        work.send(0)
        work.send_with_options(args=(0,), delay=50)
        broker.join("default", timeout=GENEROUS_MS)
        kill([heartbeat.thread, pump.thread])
        wait_until(lambda: heartbeat.is_running and pump.is_running, what="a consumer starts both anew")
        kill([worker.workers[0], worker.consumers["default"], worker.consumers["default.DQ"]])
        work.send(1)
        work.send_with_options(args=(2,), delay=50)
        broker.join("default", timeout=GENEROUS_MS)
        # The pump has it in hand while it asks for more.
        wait_until(lambda: broker.process.permits.free == 1, what="the permit is back")
        wait_until(
            lambda: all(thread.is_alive() for thread in [worker.workers[0], *worker.consumers.values()]),
            what="all of them are there again",
        )
    assert sorted(ran) == [0, 0, 1, 2]


def test_consumers_take_up_again_after_their_connections_were_cut(
    broker: BandedRedisBroker, redis_client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("dramatiq.worker.CONSUMER_RESTART_DELAY_SECS", 0.05)
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    @dramatiq.actor(queue_name="plain")
    def plain(number: int) -> None:
        ran.append(number)

    with running(broker) as worker:
        threads = list(worker.consumers.values())
        for number in range(3):
            own = redis_client.client_id()
            for each in redis_client.client_list():
                if int(each["id"]) != own:
                    redis_client.client_kill_filter(_id=each["id"])
            work.send(number)
            plain.send(number)
            broker.join("default", timeout=GENEROUS_MS)
            broker.join("plain", timeout=GENEROUS_MS)
        assert list(worker.consumers.values()) == threads
    assert sorted(ran) == [0, 0, 1, 1, 2, 2]


def test_an_ungated_actor_runs_as_on_any_broker_where_nothing_is_gated(
    broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    ran: list[int] = []
    before = set(redis_client.keys("exec_queue:*"))  # type: ignore[call-overload]

    @dramatiq.actor
    def plain(number: int) -> None:
        ran.append(number)

    plain.send(1)
    plain.send_with_options(args=(2,), delay=20)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
        assert broker.process.permits.free == 4, "no permit is taken where there is no lane"
    assert sorted(ran) == [1, 2]
    assert set(redis_client.keys("exec_queue:*")) == before  # type: ignore[call-overload]


def test_an_actor_may_become_gated_while_the_worker_runs(broker: BandedRedisBroker) -> None:
    ran: list[str] = []

    @dramatiq.actor
    def plain() -> None:
        ran.append("plain")

    with running(broker):
        plain.send()
        broker.join("default", timeout=GENEROUS_MS)

        @dramatiq.actor(band="HIGH")
        def gated() -> None:
            ran.append("gated")

        gated.send()
        plain.send()
        broker.join("default", timeout=GENEROUS_MS)
    assert sorted(ran) == ["gated", "plain", "plain"]


def test_what_ended_leaves_nothing_to_the_garbage_collector(broker: BandedRedisBroker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    with running(broker, threads=2):
        work.send(0)
        broker.join("default", timeout=GENEROUS_MS)
        gc.collect()
        gc.disable()
        try:
            broker.send_many([work.message(number) for number in range(200)])
            broker.join("default", timeout=GENEROUS_MS)
            # A cycle a job would make the collector run, over all objects of the application, every hundred jobs.
            assert gc.collect() < len(ran)
        finally:
            gc.enable()

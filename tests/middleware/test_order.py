"""What starts next in a worker: the band first, then who came first, under every limit, whatever else runs there."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from typing import cast

import dramatiq
import pytest
from dramatiq import Actor
from dramatiq.middleware import CurrentMessage
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService, Priority, current_grant
from bandmaster.scheduler.events import ExecutionRequestedEvent
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

BANDS = list(Priority)


class Crowd:
    """Counts how many run at once, by key."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running: Counter[str] = Counter()
        self.most: Counter[str] = Counter()

    def enter(self, *keys: str) -> None:
        with self._lock:
            self._running.update(keys)
            for key in keys:
                self.most[key] = max(self.most[key], self._running[key])

    def leave(self, *keys: str) -> None:
        with self._lock:
            self._running.subtract(keys)


def test_the_highest_band_starts_first_and_within_it_who_came_first(broker: BandedRedisBroker) -> None:
    started: list[tuple[Priority, int]] = []

    @dramatiq.actor(band="NORMAL")
    def work(band: int, number: int) -> None:
        started.append((Priority(band), number))

    for number in range(20):
        band = BANDS[number * 3 % 5]
        work.send_with_options(args=(int(band), number), band=band.name.lower())
    with running(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
    assert started == sorted(started)


def test_the_bands_of_all_actors_of_a_lane_are_one_order(broker: BandedRedisBroker) -> None:
    started: list[str] = []

    @dramatiq.actor(band=Priority.LOW, queue_name="lane")
    def low() -> None:
        started.append("low")

    @dramatiq.actor(band=1, queue_name="lane")
    def high() -> None:
        started.append("high")

    for _ in range(5):
        low.send()
        high.send()
    with running(broker, threads=1):
        broker.join("lane", timeout=GENEROUS_MS)
    assert started == ["high"] * 5 + ["low"] * 5


def test_what_a_release_admits_is_the_best_of_what_waits_then(broker: BandedRedisBroker) -> None:
    started: list[str] = []
    first_runs, go_on = threading.Event(), threading.Event()

    @dramatiq.actor(band="NORMAL")
    def work(name: str) -> None:
        started.append(name)
        if name == "first":
            first_runs.set()
            go_on.wait(GENEROUS_SECONDS)

    with running(broker, threads=1):
        work.send("first")
        assert first_runs.wait(GENEROUS_SECONDS)
        work.send("late and normal")
        work.send_with_options(args=("latest but critical",), band="critical")
        go_on.set()
        broker.join("default", timeout=GENEROUS_MS)
    assert started == ["first", "latest but critical", "late and normal"]


@pytest.mark.parametrize("limit", [1, 3])
def test_no_more_run_at_once_than_the_limit_over_everything(
    broker: BandedRedisBroker, queue: ExecutionQueueService, limit: int
) -> None:
    queue.controls.change_setting("max_concurrent_executions", limit)
    crowd = Crowd()

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        crowd.enter("all")
        wait_until(lambda: crowd.most["all"] >= limit, what="as many as may")
        time.sleep(0.005)
        crowd.leave("all")

    for _ in range(40):
        work.send()
    with running(broker, threads=8):
        broker.join("default", timeout=GENEROUS_MS)
    assert crowd.most["all"] == limit


def test_gates_named_by_arguments_limit_each_on_its_own(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    queue.controls.set_limit("tenant:a", 1)
    queue.controls.set_limit("tenant:b", 2)
    queue.controls.set_limit("host:1", 2)
    crowd = Crowd()

    @dramatiq.actor(gates=["tenant:{tenant}", "host:{host}"])
    def work(tenant: str, host: int = 1) -> None:
        keys = (f"tenant:{tenant}", f"host:{host}")
        crowd.enter(*keys)
        if host == 1:
            wait_until(lambda: crowd.most["host:1"] >= 2, what="as many as the host takes")
        else:
            wait_until(lambda: crowd.most["tenant:c"] > 2, what="others beside them")
        time.sleep(0.005)
        crowd.leave(*keys)

    for _ in range(15):
        work.send("a")
        work.send(tenant="b")
        work.send("c", host=2)
    with running(broker, threads=8):
        broker.join("default", timeout=GENEROUS_MS)
    assert crowd.most["tenant:a"] == 1
    assert crowd.most["tenant:b"] <= 2
    assert crowd.most["host:1"] == 2
    assert crowd.most["tenant:c"] > 2, "no full gate holds back the others"


def test_options_of_one_message_say_its_band_user_gates_and_id(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    @dramatiq.actor(band="LOW", action="resize", gates=["tenant:{tenant}"])
    def work(tenant: str) -> None: ...

    sent = work.send_with_options(
        args=("a",), band="CRITICAL", user_id="ann", gates=["disk"], execution_id="my-own-name"
    )
    assert sent.options["execution_id"] == "my-own-name"
    meta = queue.views.meta("my-own-name")
    assert (meta["band"], meta["user"], meta["gates"]) == ("0", "ann", "tenant:a\ndisk")
    assert (meta["action"], meta["lane"]) == ("resize", "default")
    plain = work.send("b")
    assert plain.options["execution_id"] == plain.message_id
    assert queue.views.meta(plain.message_id)["band"] == "3"


def test_a_paused_action_waits_and_the_others_pass(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    started: list[str] = []

    @dramatiq.actor(band="HIGH", action="held")
    def held() -> None:
        started.append("held")

    @dramatiq.actor(band="LOW")
    def other() -> None:
        started.append("other")

    queue.controls.pause("action:held")
    held.send()
    other.send()
    with running(broker):
        wait_until(lambda: started, what="the other starts")
        queue.controls.resume("action:held")
        broker.join("default", timeout=GENEROUS_MS)
    assert started == ["other", "held"]


def test_saturated_lanes_and_saturated_lists_share_the_threads(broker: BandedRedisBroker) -> None:
    done: list[str] = []

    @dramatiq.actor(band="CRITICAL", queue_name="first")
    def first() -> None:
        time.sleep(0.002)
        done.append("lanes")

    @dramatiq.actor(band="BACKGROUND", queue_name="second")
    def second() -> None:
        time.sleep(0.002)
        done.append("lanes")

    @dramatiq.actor(queue_name="plain")
    def plain() -> None:
        time.sleep(0.002)
        done.append("plain")

    @dramatiq.actor(queue_name="first")
    def ungated_in_a_lane() -> None:
        time.sleep(0.002)
        done.append("ungated")

    for _ in range(100):
        for actor in (first, second, plain, ungated_in_a_lane):
            actor.send()
    with running(broker, threads=4):
        wait_until(lambda: len(done) >= 240, what="most has run")
        shares = Counter(done[40:240])
        broker.join("first", timeout=GENEROUS_MS)
        broker.join("second", timeout=GENEROUS_MS)
        broker.join("plain", timeout=GENEROUS_MS)
        wait_until(lambda: broker.process.permits.free == 4, what="every permit is back")
    assert len(done) == 400
    assert len(shares) == 3
    assert min(shares.values()) >= 20, shares


def test_what_starts_next_is_the_best_of_all_lanes(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    started: list[tuple[Priority, int]] = []
    lanes = ("first", "second", "third")
    declare = cast("Callable[..., Actor[..., None]]", dramatiq.actor)  # its overloads know no options as a whole

    def work(band: int, number: int) -> None:
        started.append((Priority(band), number))

    actors = [declare(work, actor_name=lane, queue_name=lane, band="NORMAL") for lane in lanes]
    for number in range(60):
        band = BANDS[number * 3 % 5]
        actors[number % 3].send_with_options(args=(int(band), number), band=band)
    # A lane is consumed from when its consumer is there, and they come one by one.
    queue.controls.pause("*")
    with running(broker, threads=1) as worker:
        wait_until(lambda: all(each.consumer for each in worker.consumers.values()), what="all lanes are consumed")
        queue.controls.resume("*")
        for lane in lanes:
            broker.join(lane, timeout=GENEROUS_MS)
    assert started == sorted(started)
    assert len(started) == 60


def test_a_body_sees_its_grant_and_its_message(broker: BandedRedisBroker) -> None:
    seen: list[tuple[object, ...]] = []
    broker.add_middleware(CurrentMessage())

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        grant, message = current_grant(), CurrentMessage.get_current_message()
        assert grant is not None
        assert message is not None
        seen.append((grant.execution_id, grant.attempt, message.message_id))

    @dramatiq.actor
    def ungated() -> None:
        seen.append((current_grant(),))

    sent = work.send()
    with running(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
        ungated.send()
        broker.join("default", timeout=GENEROUS_MS)
    assert seen == [(sent.message_id, 1, sent.message_id), (None,)]


def test_an_event_enqueued_by_the_service_runs_in_the_actor_that_runs_events(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[dict[str, object]] = []

    @dramatiq.actor(queue_name="executions", runs_events=True)
    def run(event: dict[str, object]) -> None:
        ran.append(event)

    event = ExecutionRequestedEvent.from_any({"command": ["true"], "execution_id": "by-service"})
    queue.on("executions").enqueue(event)
    run.send({"command": ["true"], "execution_id": "by-message", "priority": "CRITICAL"})
    stored = broker.plain_client.get(queue.scripts.keys.message("by-message"))
    assert b"command" not in stored, "the event is kept once, under its own key"
    with running(broker, threads=1):
        broker.join("executions", timeout=GENEROUS_MS)
    assert [each["execution_id"] for each in ran] == ["by-message", "by-service"]
    assert ran[1]["command"] == ["true"]

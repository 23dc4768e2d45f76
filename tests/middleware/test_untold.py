"""Ends that are not told yet: each is told in the end, however many there are and whoever was out of reach at first.

On real workers. Nothing is asked for where nothing is to be told.
"""

import threading
import time
from typing import Any, cast

import dramatiq
import pytest
from dramatiq.results.backends import RedisBackend
from logged import context_of, events
from told import is_told, raised
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.engine.outbox import UntoldEnd
from bandmaster.scheduler.engine.parking import Candidate
from waiting import GENEROUS_MS, wait_until

MANY = 300


def test_a_lane_without_a_worker_keeps_its_ends_until_one_comes(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend
) -> None:
    @dramatiq.actor(band="HIGH", queue_name="mail", store_results=True)
    def work() -> None: ...

    @dramatiq.actor(band="HIGH")
    def other() -> None: ...

    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker, queues={"default"}):
        other.send()
        broker.join("default", timeout=GENEROUS_MS)
    assert len(queue.outbox.collect("mail", 1, taken_ms=0)) == 1
    with running(broker, queues={"mail"}):
        assert raised(sent)[0] == "ExecutionCancelled"


def test_results_that_cannot_be_stored_leave_the_end_for_later_and_the_others_are_told(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def work(number: int) -> None: ...

    bad, good = work.send(1), work.send(2)
    store = cast("Any", results).store_exception
    refused = threading.Event()

    def store_one(message: Any, exception: Exception, ttl: int) -> None:
        if list(message.args) == [1] and not refused.is_set():
            refused.set()
            raise ConnectionError
        store(message, exception, ttl)

    monkeypatch.setattr(results, "store_exception", store_one)
    monkeypatch.setattr(broker.process._telling, "_taken_ms", 1)  # pyright: ignore[reportPrivateUsage]
    for each in (bad, good):
        queue.cancel(each.message_id)
    with running(broker):
        assert raised(good)[0] == "ExecutionCancelled"
        assert raised(bad)[0] == "ExecutionCancelled"
    assert refused.is_set()


def test_where_nothing_is_to_be_told_nothing_is_asked(
    broker: BandedRedisBroker, queue: ExecutionQueueService, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    rounds: list[float] = []

    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    telling: Any = broker.process._telling  # pyright: ignore[reportPrivateUsage]
    exchange: Any = broker.process._exchange  # pyright: ignore[reportPrivateUsage]
    ask = exchange.ask

    def note_asked(lane: str, *_: object, **__: object) -> list[UntoldEnd]:
        asked.append(lane)
        return []

    def note_round(*given: object) -> object:
        rounds.append(time.monotonic())
        return ask(*given)

    monkeypatch.setattr(telling._outbox, "collect", note_asked)
    monkeypatch.setattr(exchange, "ask", note_round)
    with running(broker):
        work.send()
        wait_until(lambda: len(rounds) > 3, what="some rounds")
        assert asked == []
        queue.cancel(work.send_with_options(delay=3_600_000).message_id)
        wait_until(lambda: asked, what="the next round")


def test_a_burst_of_expiries_on_a_lane_with_workers_leaves_nobody_untold(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend
) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def work() -> None: ...

    queue.controls.change_setting("max_dead_messages", MANY // 10)
    queue.controls.pause("action:work")
    with running(broker):
        wait_until(lambda: queue.views.asked_ms_ago("default") is not None, what="the worker asks")
        sent = broker.send_many(work.message_with_options(max_age=1) for _ in range(MANY))
        wait_until(lambda: not queue.maintenance.sweep() and not queue.views.pending(), what="all expire")
        wait_until(lambda: queue.views.untold("default") == 0, what="all ends are told")
    for each in sent:
        assert raised(each)[0] == "SkipMessage"


def test_how_many_ends_were_dropped_while_no_worker_came_is_said_to_the_next(
    broker: BandedRedisBroker, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    queue.controls.change_setting("max_dead_messages", 1)
    for _ in range(3):
        queue.cancel(work.send().message_id)
    with running(broker):
        wait_until(lambda: "ended_without_result" in events(caplog), what="the last is told")
    said = context_of(caplog, "ends_dropped")
    assert (said["lane"], said["count"]) == ("default", 2)


def cancel_two_of_an_unknown_actor(queue: ExecutionQueueService) -> None:
    for name in ("x", "y"):
        message: dramatiq.Message[Any] = dramatiq.Message("default", "elsewhere", (), {}, {}, name)
        queue.transitions.park(Candidate(name, "default", 2, "elsewhere", message=message.encode()))
        queue.cancel(name)


def test_ends_of_an_actor_that_a_worker_does_not_know_are_left_to_others_and_said_once(
    broker: BandedRedisBroker, queue: ExecutionQueueService, caplog: pytest.LogCaptureFixture
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    cancel_two_of_an_unknown_actor(queue)
    sent = work.send()
    queue.cancel(sent.message_id)
    with running(broker):
        wait_until(lambda: is_told(queue, sent), what="the known one's end is told")
        wait_until(lambda: not queue.outbox.collect("default", 1, taken_ms=0), what="the others are taken")
    assert queue.views.untold("default") == 2
    assert queue.views.dead() == []
    assert events(caplog).count("ends_left_to_others") == 1


def test_ends_whose_actor_nobody_knows_any_more_are_dead_letters(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    monkeypatch.setattr(broker.process._telling, "_left_seconds", 0.0)  # pyright: ignore[reportPrivateUsage]
    cancel_two_of_an_unknown_actor(queue)
    with running(broker):
        wait_until(lambda: queue.views.untold("default") == 0, what="they are given up")
    assert sorted(queue.views.dead()) == ["x", "y"]
    assert events(caplog).count("end_untold") == 2

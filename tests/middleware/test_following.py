"""What follows a body on a lane: results, pipelines, groups, callbacks; sent before it is settled, and not twice."""

import threading
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message, group, pipeline
from dramatiq.middleware import GroupCallbacks
from dramatiq.rate_limits.backends import RedisBackend as RedisLimits
from dramatiq.results import ResultFailure
from dramatiq.results.backends import RedisBackend
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until


def test_results_are_stored_before_the_slot_is_given_back(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend
) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def work(number: int) -> int:
        return number * 2

    @dramatiq.actor(band="HIGH", store_results=True, max_retries=0)
    def fails() -> None:
        raise ValueError("no")

    good, bad = work.send(21), fails.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
        assert good.get_result() == 42
        with pytest.raises(ResultFailure, match="ValueError: no"):
            bad.get_result(block=True, timeout=GENEROUS_MS)


def test_pipelines_go_through_gated_and_ungated_actors(broker: BandedRedisBroker, results: RedisBackend) -> None:
    @dramatiq.actor(band="HIGH", store_results=True)
    def gated(number: int, more: int = 0) -> int:
        return number + more

    @dramatiq.actor(queue_name="plain", store_results=True)
    def ungated(number: int) -> int:
        return number * 10

    with running(broker):
        pipe = pipeline(
            [
                gated.message(1),
                ungated.message_with_options(),
                gated.message(2),
                gated.message_with_options(args=(3,), delay=30),
            ]
        ).run()
        assert pipe.get_result(block=True, timeout=GENEROUS_MS) == 15


def test_a_groups_callback_runs_once_all_of_it_has(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    broker.add_middleware(GroupCallbacks(RedisLimits(client=redis_client)))
    ran: list[int] = []
    ended = threading.Event()

    @dramatiq.actor(band="HIGH", gates=["disk"])
    def work(number: int) -> None:
        ran.append(number)

    @dramatiq.actor(band="LOW")
    def finish() -> None:
        ran.append(-1)
        ended.set()

    with running(broker):
        together = group([work.message(n) for n in range(5)])
        together.add_completion_callback(finish.message())
        together.run()
        assert ended.wait(GENEROUS_SECONDS)
    assert (sorted(ran[:-1]), ran[-1]) == ([0, 1, 2, 3, 4], -1)


def test_callbacks_run_after_success_and_failure(broker: BandedRedisBroker) -> None:
    called: list[tuple[str, Any]] = []

    @dramatiq.actor(band="HIGH")
    def succeeded(message: dict[str, Any], result: int) -> None:
        called.append((message["actor_name"], result))

    @dramatiq.actor(band="HIGH")
    def failed(message: dict[str, Any], error: dict[str, str]) -> None:
        called.append((message["actor_name"], error["type"]))

    @dramatiq.actor(band="LOW", on_success="succeeded")
    def good() -> int:
        return 7

    @dramatiq.actor(band="LOW", on_failure="failed", max_retries=0)
    def bad() -> None:
        raise ValueError

    good.send()
    bad.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert sorted(called) == [("bad", "ValueError"), ("good", 7)]


def test_a_next_step_that_is_refused_is_a_dead_letter(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH")
    def first() -> str:
        return ""

    @dramatiq.actor(band="HIGH", gates=["tenant:{tenant}"])
    def second(tenant: str) -> None: ...

    step: Message[Any] = second.message_with_options()
    with running(broker):
        (first.message() | step).run()
        broker.join("default", timeout=GENEROUS_MS)
    (dead,) = queue.views.dead()
    assert dead.startswith(f"{step.message_id}.")
    meta = queue.views.meta(dead)
    assert (meta["state"], meta["reason"]) == (State.FAILED, "invalid")
    assert queue.journal.of(dead)[0].verb == "bury"


def test_a_callback_for_which_there_is_no_room_is_a_dead_letter(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    queue.controls.change_setting("max_queue_size", 1, lane="elsewhere")

    @dramatiq.actor(band="HIGH", on_success="then")
    def first() -> None:
        waits.send()

    @dramatiq.actor(queue_name="elsewhere", band="HIGH")
    def waits() -> None: ...

    @dramatiq.actor(queue_name="elsewhere", band="HIGH")
    def then(message: dict[str, Any], result: object) -> None: ...

    first.send()
    with running(broker, queues={"default"}):
        broker.join("default", timeout=GENEROUS_MS)
    (dead,) = queue.views.dead()
    assert (queue.views.meta(dead)["action"], queue.views.meta(dead)["reason"]) == ("then", "queue_full")


def test_an_attempt_whose_grant_was_lost_publishes_nothing(
    broker: BandedRedisBroker, queue: ExecutionQueueService, results: RedisBackend
) -> None:
    followed: list[int] = []
    runs: list[int] = []

    @dramatiq.actor(band="HIGH", store_results=True, on_success="then", max_retries=0)
    def work() -> str:
        runs.append(len(runs))
        if len(runs) == 1:
            (entry,) = broker.gate.held.all()
            entry.deadline = 0.0  # this process was stopped past its lease
        return f"run {runs[-1]}"

    @dramatiq.actor(band="HIGH")
    def then(message: dict[str, Any], result: str) -> None:
        followed.append(1)

    @dramatiq.actor(band="HIGH")
    def step(result: str) -> None:
        followed.append(2)

    first = work.message()
    with running(broker):
        (first | step.message_with_options()).run()
        broker.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: broker.process.permits.free == 4, what="every permit is back")
    assert runs == [0, 1], "nothing was settled, so it ran again"
    assert sorted(followed) == [1, 2]
    assert first.get_result(backend=results) == "run 1"
    assert queue.views.meta(first.message_id)["attempt"] == "2"

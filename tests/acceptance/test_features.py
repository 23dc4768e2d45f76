"""Retries, pipelines, groups, results, callbacks, limits of time and age, cancellation: on a lane, as elsewhere."""

import time
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import group
from dramatiq.middleware import CurrentMessage, GroupCallbacks, TimeLimitExceeded
from dramatiq.rate_limits.backends import RedisBackend as RateBackend
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend as ResultBackend

from acceptance.conftest import THREADS, StartWorker
from bandmaster import BandedRedisBroker, DuplicateExecution
from bandmaster.scheduler.engine.journal import Verb
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_MS, wait_until


def all_ended(broker: BandedRedisBroker, lane: str = "default") -> None:
    """Wait until nothing of a lane lives and every thread is free again."""
    wait_until(lambda: broker.queue.views.lane_size(lane) == 0, what="the lane's end")
    wait_until(lambda: broker.process.permits.free == THREADS, what="every permit's return")


def state_of(broker: BandedRedisBroker, message: "dramatiq.Message[Any]") -> str:
    """The state of a message's execution."""
    return broker.queue.views.meta(message.options["execution_id"])["state"]


def test_results_pipelines_groups_and_their_callbacks(
    broker: BandedRedisBroker, redis_client: redis.Redis, start_worker: StartWorker
) -> None:
    broker.add_middleware(Results(backend=ResultBackend(client=redis_client)))
    broker.add_middleware(GroupCallbacks(RateBackend(client=redis_client)))
    finished: list[bool] = []

    @dramatiq.actor(band="HIGH", store_results=True)
    def add(left: int, right: int) -> int:
        return left + right

    @dramatiq.actor(band="LOW")
    def finish() -> None:
        finished.append(True)

    start_worker()
    assert add.send(1, 2).get_result(block=True, timeout=GENEROUS_MS) == 3
    chain: Any = (add.message(1, 2) | add.message(3) | add.message(4)).run()  # type: ignore[call-arg]
    assert chain.get_result(block=True, timeout=GENEROUS_MS) == 10
    several: Any = group([add.message(i, i) for i in range(5)])
    several.add_completion_callback(finish.message())
    several.run()
    assert sorted(several.get_results(block=True, timeout=GENEROUS_MS)) == [0, 2, 4, 6, 8]
    wait_until(lambda: finished, what="the group's callback")
    all_ended(broker)


def test_callbacks_run_and_a_body_out_of_retries_is_a_dead_letter(
    broker: BandedRedisBroker, start_worker: StartWorker
) -> None:
    heard: list[tuple[str, Any]] = []

    @dramatiq.actor(band="HIGH")
    def well(_message: dict[str, Any], result: Any) -> None:
        heard.append(("well", result))

    @dramatiq.actor(band="HIGH")
    def badly(_message: dict[str, Any], error: dict[str, str]) -> None:
        heard.append(("badly", error["type"]))

    @dramatiq.actor(band="HIGH", max_retries=1, min_backoff=10, max_backoff=20)
    def run(fails: bool) -> None:
        if fails:
            raise ValueError("asked to")

    start_worker()
    run.send_with_options(args=(False,), on_success=well)
    failing = run.send_with_options(args=(True,), on_failure=badly)
    wait_until(lambda: len(heard) == 3, what="all callbacks")
    all_ended(broker)
    assert sorted(heard) == [("badly", "ValueError"), ("badly", "ValueError"), ("well", None)]
    assert broker.queue.views.dead() == [failing.options["execution_id"]]
    assert broker.queue.views.meta(failing.options["execution_id"])["attempt"] == "2"


def test_a_time_limit_ends_a_body(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    interrupted: list[bool] = []

    @dramatiq.actor(band="HIGH", time_limit=300, max_retries=0)
    def never_ends() -> None:
        try:
            while True:
                time.sleep(0.01)
        except TimeLimitExceeded:
            interrupted.append(True)
            raise

    start_worker()
    message = never_ends.send()
    wait_until(lambda: interrupted, what="the interruption")
    all_ended(broker)
    assert state_of(broker, message) == "FAILED"


def test_a_message_beyond_its_age_does_not_run(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    ran: list[bool] = []

    @dramatiq.actor(band="HIGH", max_age=1)
    def too_late() -> None:
        ran.append(True)

    message = too_late.send()
    wait_until(lambda: time.time() * 1000 > message.message_timestamp + 5)
    start_worker()
    all_ended(broker)
    assert not ran
    assert state_of(broker, message) == "EXPIRED"


def test_the_same_message_sent_twice_is_refused(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(band="HIGH")
    def once() -> None: ...

    message = once.send()
    with pytest.raises(DuplicateExecution, match="that id is taken"):
        broker.enqueue(message)
    assert broker.queue.on("default").get_queue_status()["queue_depth"] == 1


def test_a_cancelled_body_is_interrupted_and_not_retried(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    begun: list[bool] = []

    @dramatiq.actor(band="HIGH", min_backoff=10)
    def long() -> None:
        begun.append(True)
        while True:
            time.sleep(0.01)

    start_worker()
    message = long.send()
    wait_until(lambda: begun, what="the body")
    broker.queue.cancel(message.options["execution_id"])
    all_ended(broker)
    assert begun == [True]
    assert state_of(broker, message) == "CANCELLED"


def test_a_body_may_send_its_own_message_again(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    broker.add_middleware(CurrentMessage())
    runs: list[int] = []

    @dramatiq.actor(band="HIGH")
    def again() -> None:
        runs.append(len(runs))
        if len(runs) < 3:
            message: Any = CurrentMessage.get_current_message()
            broker.enqueue(message)

    start_worker()
    again.send()
    wait_until(lambda: len(runs) == 3, what="the third run")
    all_ended(broker)
    assert runs == [0, 1, 2]


def test_delayed_and_scheduled_messages_wait_in_redis(broker: BandedRedisBroker, start_worker: StartWorker) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def later(name: str) -> None:
        ran.append(name)

    # This one first: it waits from when it is sent, and so before the other, however late that is sent.
    later.send_with_options(args=("scheduled",), scheduled_at="2020-01-01T00:00:00+00:00")
    delayed = later.send_with_options(args=("delayed",), delay=1_000).options["execution_id"]
    start_worker()
    all_ended(broker)
    entries = list(broker.queue.journal.entries())
    (parked,) = [each for each in entries if each.verb == Verb.PARK and each.execution_id == delayed]
    assert parked.fields["state"] == State.SCHEDULED
    # Which of two threads runs its body first is not told by the order of the grants.
    assert [each.execution_id for each in entries if each.verb == Verb.ADMIT][-1] == delayed
    assert sorted(ran) == ["delayed", "scheduled"]

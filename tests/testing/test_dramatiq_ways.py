"""What Dramatiq's users do in tests, with gated actors: join, dead letters, flush, delays, retries, pipelines."""

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import dramatiq
import pytest
from dramatiq import Message, Worker
from dramatiq.errors import QueueJoinTimeout, QueueNotFound, Retry
from dramatiq.middleware import AsyncIO, CurrentMessage, Middleware
from dramatiq.results import ResultFailure, Results
from dramatiq.results.backends import StubBackend

from bandmaster import ConcurrencyGate, DuplicateExecution, InvalidRequest, PriorityBands
from bandmaster.testing import BandedStubBroker, working
from waiting import GENEROUS_MS


def test_join_raises_what_a_body_raised_unless_told_not_to(broker: BandedStubBroker) -> None:
    @dramatiq.actor(band="HIGH", max_retries=0)
    def work() -> None:
        raise ValueError("broken")

    work.send_with_options(execution_id="broken")
    worker = Worker(broker, worker_timeout=20)
    worker.start()
    with pytest.raises(ValueError, match="broken"):
        broker.join(work.queue_name)
    worker.join()
    broker.join(work.queue_name, fail_fast=False)
    worker.stop()
    assert [message.actor_name for message in broker.dead_letters] == ["work"]
    with pytest.raises(DuplicateExecution, match="FAILED"):
        work.send_with_options(execution_id="broken")


def test_a_broker_that_does_not_fail_fast_raises_nothing() -> None:
    broker = BandedStubBroker(fail_fast_default=False)

    @dramatiq.actor(broker=broker, band="HIGH", max_retries=0)
    def work() -> None:
        raise ValueError

    work.send()
    with working(broker):
        broker.join("default")
    assert len(broker.dead_letters) == 1


def test_flush_all_drops_what_waits_and_frees_ids_but_keeps_limits(broker: BandedStubBroker) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    broker.queue.controls.set_limit("action:work", 1)
    work.send_with_options(execution_id="ended")
    with working(broker):
        broker.join("default")
    work.send_with_options(execution_id="waits")
    work.send_with_options(execution_id="later", delay=3_600_000)
    broker.flush_all()
    broker.join("default", timeout=GENEROUS_MS)
    for name in ("ended", "waits", "later"):
        work.send_with_options(execution_id=name)
    assert len(broker.waiting("default")) == 3
    assert broker.queue.controls.limits() == {"action:work": 1}


def test_a_delay_and_a_time_are_waited_for_and_join_waits_with_them(broker: BandedStubBroker) -> None:
    began: dict[str, float] = {}

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        began[name] = time.time()

    sent = time.time()
    work.send_with_options(args=("time",), scheduled_at=datetime.now(UTC) + timedelta(milliseconds=300))
    work.send_with_options(args=("delay",), delay=timedelta(milliseconds=150))
    work.send("now")
    assert broker.queue.on("default").get_queue_status()["queue_depth"] == 1, "what is not yet due is no part of it"
    with working(broker):
        broker.join("default")
    assert list(began) == ["now", "delay", "time"]
    assert began["delay"] - sent >= 0.149
    assert began["time"] - sent >= 0.299


def test_retries_are_made_under_the_same_id_and_with_their_delay(broker: BandedStubBroker) -> None:
    tries: list[str] = []

    @dramatiq.actor(band="HIGH", min_backoff=1, max_backoff=2, max_retries=3)
    def work() -> None:
        message: Message[Any] | None = CurrentMessage.get_current_message()
        assert message is not None
        tries.append(message.options["execution_id"])
        if len(tries) < 3:
            raise ValueError

    broker.add_middleware(CurrentMessage())
    broker.queue.controls.change_setting("max_queue_size", 1, lane="default")
    sent = work.send()
    with working(broker):
        broker.join("default")
    assert tries == [sent.options["execution_id"]] * 3


def test_a_retry_at_once_goes_to_the_end_of_its_band(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        began.append(name)
        if name == "first" and began.count("first") == 1:
            raise Retry("again", delay=0)

    for name in ("first", "second", "third"):
        work.send(name)
    work.send_with_options(args=("low",), band="LOW")
    with working(broker, threads=1):
        broker.join("default")
    assert began == ["first", "second", "third", "first", "low"]


def test_a_body_that_sends_its_own_message_again_is_run_again_at_the_end_of_its_band(broker: BandedStubBroker) -> None:
    began: list[int] = []
    broker.add_middleware(CurrentMessage())

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        began.append(number)
        message: Any = CurrentMessage.get_current_message()
        if number < 3:
            broker.enqueue(message.copy(args=(number + 2,)))

    for number in (1, 2):
        work.send(number)
    with working(broker, threads=1):
        broker.join("default")
    assert began == [1, 2, 3, 4]


def test_an_id_cannot_be_borrowed_for_other_work(broker: BandedStubBroker) -> None:
    refused: list[str] = []

    @dramatiq.actor(band="HIGH")
    def other() -> None: ...

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        for actor, band in ((other, "HIGH"), (work, "LOW")):
            try:
                actor.send_with_options(execution_id="mine", band=band)
            except DuplicateExecution as refusal:
                refused.append(str(refusal.state))

    work.send_with_options(execution_id="mine")
    with working(broker):
        broker.join("default")
    assert refused == ["RUNNING", "RUNNING"]


def test_our_middleware_which_needs_a_server_is_refused(broker: BandedStubBroker) -> None:
    for middleware in (PriorityBands(), ConcurrencyGate()):
        with pytest.raises(ValueError, match="do not add it"):
            broker.add_middleware(middleware)


def test_a_pipeline_of_gated_steps_runs_and_runs_again_in_full(broker: BandedStubBroker) -> None:
    results = Results(backend=StubBackend())
    broker.add_middleware(results)
    seen: list[int] = []

    @dramatiq.actor
    def one() -> int:
        return 1

    @dramatiq.actor(band="HIGH", store_results=True)
    def doubled(number: int) -> int:
        seen.append(number)
        return 2 * number

    step: Any = doubled  # Dramatiq's types do not know that a step before gives the argument
    pipe: Any = one.message() | step.message() | step.message()
    with working(broker):
        for _ in range(2):
            pipe.run()
            broker.join("default")
            assert pipe.get_result(block=True) == 4
    assert seen == [1, 2, 1, 2]


def test_a_follow_up_that_is_refused_fails_the_test_that_joins(broker: BandedStubBroker) -> None:
    @dramatiq.actor
    def one() -> str:
        return ""

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def two(tenant: str) -> None: ...

    step: Any = two
    pipe: Any = one.message() | step.message()
    pipe.run()
    with working(broker), pytest.raises(InvalidRequest, match="needs argument tenant"):
        broker.join("default")


def test_who_waits_for_a_follow_up_that_is_refused_is_told(broker: BandedStubBroker) -> None:
    backend, told = StubBackend(), list[str]()
    broker.add_middleware(Results(backend=backend))

    class Rows(Middleware):
        def after_skip_message(self, broker: Any, message: Any) -> None:
            told.append(f"{message.actor_name} is skipped")

    broker.add_middleware(Rows())

    @dramatiq.actor
    def one() -> str:
        return ""

    @dramatiq.actor
    def failed(message: dict[str, Any], error: dict[str, str]) -> None:
        told.append(error["type"])

    @dramatiq.actor(gates=["tenant:{tenant}"], store_results=True, on_failure="failed")
    def two(tenant: str) -> None: ...

    step: Any = two
    pipe: Any = one.message() | step.message()
    pipe.run()
    with working(broker):
        broker.join("default", fail_fast=False)
        with pytest.raises(
            ResultFailure,
            match=r"ExecutionFailed: execution .* was given up without a result: invalid \(InvalidRequest: gates: ",
        ):
            pipe.get_result(block=True)
    assert told == ["two is skipped", "ExecutionFailed"]


def test_asyncio_actors_run(broker: BandedStubBroker) -> None:
    began: list[str] = []
    broker.add_middleware(AsyncIO())

    @dramatiq.actor(band="HIGH")
    async def work() -> None:
        began.append("work")

    work.send()
    with working(broker):
        broker.join("default")
    assert began == ["work"]


def test_a_lane_that_is_not_worked_on_times_out_and_an_unknown_one_is_not_found(broker: BandedStubBroker) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    message: Any = work.message_with_options(execution_id="order-7")
    broker.enqueue(message)
    with pytest.raises(DuplicateExecution, match="PENDING"):
        broker.enqueue(message)
    with pytest.raises(QueueJoinTimeout):
        broker.join("default", timeout=50)
    with pytest.raises(QueueNotFound):
        broker.enqueue(message.copy(queue_name="nowhere"))


def test_a_message_sent_again_is_another_execution(broker: BandedStubBroker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    message: Any = work.message(1)
    with working(broker):
        for _ in range(2):
            (message | work.message_with_options(args=(2,), pipe_ignore=True)).run()
            broker.join("default")
    ids = [broker.enqueue(message).options["execution_id"] for _ in range(2)]
    assert ran == [1, 2, 1, 2]
    assert len(set(ids)) == 2
    assert all(each.startswith(f"{message.message_id}.") for each in ids)


def test_options_of_ours_on_an_ungated_actor_are_none_of_our_business(broker: BandedStubBroker) -> None:
    began: list[str] = []

    @dramatiq.actor
    def ungated() -> None:
        began.append("ungated")

    ungated.send_with_options(user_id=7, scheduled_at="whenever", band="loud")
    ungated.send_with_options(delay=10)
    with working(broker):
        broker.join("default")
    assert began == ["ungated", "ungated"]

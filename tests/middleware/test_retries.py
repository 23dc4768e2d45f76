"""`Retries` and re-sent messages on a lane: noted in the process, applied with the settlement, in one transition."""

import itertools
import time
from typing import Any

import dramatiq
import pytest
from dramatiq import Middleware
from dramatiq.middleware import CurrentMessage, Retries
from working import only_when_told, running

from bandmaster import BandedRedisBroker, ExecutionQueueService, current_grant
from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_MS, wait_until


def state_of(queue: ExecutionQueueService, message: "dramatiq.Message[Any]") -> str:
    return queue.views.meta(message.message_id)["state"]


def test_a_body_that_raises_is_tried_again_with_the_next_attempt(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    attempts: list[tuple[int, int]] = []

    @dramatiq.actor(band="HIGH", min_backoff=1, max_backoff=2)
    def work() -> None:
        grant = current_grant()
        assert grant is not None
        assert grant.message is not None
        attempts.append((grant.attempt, dramatiq.Message.decode(grant.message).options.get("retries", 0)))
        if len(attempts) < 3:
            raise ValueError

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert attempts == [(1, 0), (2, 1), (3, 2)]
    assert state_of(queue, sent) == State.COMPLETED
    assert [entry.verb for entry in queue.journal.of(sent.message_id)].count("retry") == 2


def test_a_retry_after_less_than_a_second_starts_promptly(
    broker: BandedRedisBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[float] = []

    @dramatiq.actor(band="HIGH", min_backoff=150, max_backoff=200)
    def work() -> None:
        started.append(time.monotonic())
        if len(started) < 4:
            raise ValueError

    with running(broker) as worker:
        # An idle consumer is told, it does not find out at its next look.
        only_when_told(worker, monkeypatch)
        work.send()
        broker.join("default", timeout=GENEROUS_MS)
    pauses = [later - earlier for earlier, later in itertools.pairwise(started)]
    assert len(pauses) == 3
    assert all(pause >= 0.05 for pause in pauses)


def test_a_retry_waits_in_redis_and_not_in_the_worker(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH", min_backoff=60_000)
    def work() -> None:
        raise ValueError

    sent = work.send()
    with running(broker):
        wait_until(lambda: state_of(queue, sent) == State.SCHEDULED, what="the retry is scheduled")
        wait_until(lambda: broker.process.permits.free == 4, what="its thread is free")
    assert queue.views.scheduled() == [sent.message_id]
    assert queue.views.active() == []


def test_what_has_used_up_its_retries_is_a_dead_letter(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="HIGH", max_retries=1, min_backoff=1, max_backoff=2)
    def work() -> None:
        raise ValueError

    @dramatiq.actor(band="HIGH", throws=KeyError)
    def gives_up() -> None:
        raise KeyError

    sent = [work.send(), gives_up.send()]
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert [state_of(queue, each) for each in sent] == [State.FAILED, State.FAILED]
    assert queue.views.meta(sent[0].message_id)["reason"] == "ValueError"
    assert set(queue.views.dead()) == {each.message_id for each in sent}


def test_a_body_may_send_its_current_message_again(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    broker.add_middleware(CurrentMessage())
    attempts: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        grant, message = current_grant(), CurrentMessage.get_current_message()
        assert grant is not None
        assert message is not None
        attempts.append(grant.attempt)
        if grant.attempt < 3:
            broker.enqueue(message, delay=20)

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert attempts == [1, 2, 3]
    assert state_of(queue, sent) == State.COMPLETED
    assert queue.action_statistics("work").total_enqueued == 1, "it is the same execution"


def test_an_async_body_may_send_its_current_message_again(broker: BandedRedisBroker) -> None:
    broker.add_middleware(CurrentMessage())
    broker.add_middleware(dramatiq.middleware.AsyncIO())
    attempts: list[int] = []

    @dramatiq.actor(band="HIGH")
    async def work() -> None:
        grant, message = current_grant(), CurrentMessage.get_current_message()
        assert grant is not None
        assert message is not None
        attempts.append(grant.attempt)
        if grant.attempt < 2:
            broker.enqueue(message)

    work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert attempts == [1, 2]


def test_without_retries_a_body_that_raises_has_failed(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    broker.middleware = [each for each in broker.middleware if not isinstance(each, Retries)]

    @dramatiq.actor(band="HIGH")
    def work() -> None:
        raise ValueError

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert state_of(queue, sent) == State.FAILED
    assert queue.views.dead() == []


class Breaks(Middleware):
    """A hook of somebody's that raises, so that `Retries` never gets to its re-enqueue."""

    def __init__(self, times: int) -> None:
        self.left = times

    def retry_when(self, retries: int, exception: BaseException) -> bool:
        self.left -= 1
        if self.left >= 0:
            raise RuntimeError("this hook is broken")
        return retries < 5


def test_a_retry_that_dramatiq_swallowed_is_made_up_for(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    breaks, runs = Breaks(2), list[int]()

    @dramatiq.actor(band="HIGH", min_backoff=1, max_backoff=2, retry_when=breaks.retry_when)
    def work() -> None:
        runs.append(1)
        if len(runs) < 4:
            raise ValueError

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert len(runs) == 4
    assert state_of(queue, sent) == State.COMPLETED


def test_retries_that_dramatiq_swallows_each_time_come_to_an_end(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    breaks, runs = Breaks(1000), list[int]()

    @dramatiq.actor(band="HIGH", max_retries=3, min_backoff=1, max_backoff=2, retry_when=breaks.retry_when)
    def work() -> None:
        runs.append(1)
        raise ValueError

    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert len(runs) == 4
    assert state_of(queue, sent) == State.FAILED
    assert queue.views.dead() == [sent.message_id]


class Forbids(Middleware):
    """A hook before the body that does not let it run the first time."""

    def __init__(self) -> None:
        self.calls = 0

    def before_process_message(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        self.calls += 1
        if self.calls == 1:
            raise dramatiq.middleware.MiddlewareError("not yet")


@pytest.mark.parametrize("last", [False, True])
def test_a_hook_that_raises_before_the_body_is_a_failed_attempt(broker: BandedRedisBroker, last: bool) -> None:
    forbids, runs = Forbids(), list[int]()
    broker.add_middleware(forbids, after=None if last else Retries)

    @dramatiq.actor(band="HIGH", min_backoff=1, max_backoff=2)
    def work() -> None:
        runs.append(1)

    work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert (forbids.calls, len(runs)) == (2, 1)


def test_a_body_whose_retry_cannot_be_worked_out_has_failed_and_gives_its_slot_back(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    (retries,) = (each for each in broker.middleware if isinstance(each, Retries))
    retries.min_backoff = "15"  # type: ignore[assignment]  # an application is not typed everywhere
    ran: list[int] = []

    @dramatiq.actor(band="HIGH", gates=["one"], limits={"one": 1})
    def work(number: int) -> None:
        ran.append(number)
        if number == 0:
            raise ValueError

    sent = [work.send(number) for number in range(3)]
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == [0, 1, 2]
    assert [state_of(queue, message) for message in sent] == [State.FAILED, State.COMPLETED, State.COMPLETED]
    assert queue.views.meta(sent[0].message_id)["reason"] == "ValueError"


@pytest.mark.parametrize(
    "option", [{"max_retries": "3"}, {"max_retries": True}, {"min_backoff": "x"}, {"max_backoff": None}]
)
def test_a_number_of_retries_or_a_backoff_that_is_no_number_is_refused(
    broker: BandedRedisBroker, queue: ExecutionQueueService, option: dict[str, Any]
) -> None:
    def work() -> None: ...

    declare: Any = dramatiq.actor
    (name,) = option
    with pytest.raises(InvalidRequest, match=f"{name}: .* is no number; allowed: "):
        declare(work, broker=broker, band="HIGH", **option)
    actor = declare(work, broker=broker, band="HIGH", max_retries=None)
    with pytest.raises(InvalidRequest, match=f"{name}: .* is no number; allowed: "):
        actor.send_with_options(**option)
    assert list(queue.journal.entries()) == []

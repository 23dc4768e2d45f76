"""How long an id is known once its execution has ended: by the way it was sent."""

from dataclasses import replace
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message, Middleware
from dramatiq.brokers.redis import RedisBroker
from logged import events
from working import plain_redis_broker, running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.grants.context import current_grant
from bandmaster.scheduler.model.errors import DuplicateExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

MINUTES = range(1, 601)
A_DAY = range(86_000, 86_401)


def ttl(client: redis.Redis, execution_id: str) -> int:
    return int(client.ttl(f"exec_queue:end:{execution_id}"))  # type: ignore[arg-type]


@pytest.fixture
def work(broker: BandedRedisBroker) -> "dramatiq.Actor[[], None]":
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    return work


@pytest.mark.parametrize(
    ("options", "seconds"),
    [({}, MINUTES), ({"delay": 1}, MINUTES), ({"execution_id": "my-own"}, A_DAY)],
    ids=["sent", "delayed", "named"],
)
def test_what_is_sent_directly_under_a_made_up_id_is_known_for_minutes(
    options: dict[str, Any],
    seconds: range,
    broker: BandedRedisBroker,
    work: "dramatiq.Actor[[], None]",
    redis_client: redis.Redis,
) -> None:
    sent = work.send_with_options(**options)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert ttl(redis_client, sent.options["execution_id"]) in seconds


def under(message_id: str, work: "dramatiq.Actor[[], None]") -> "Message[Any]":
    """A message whose id its sender chose."""
    return replace(work.message(), message_id=message_id)


def test_a_message_whose_id_somebody_chose_is_known_for_a_day(
    broker: BandedRedisBroker, work: "dramatiq.Actor[[], None]", redis_client: redis.Redis
) -> None:
    chosen = ("order-42", "6fa459ea-ee8a-3ca4-894e-db77e160355e")
    for message_id in chosen:
        broker.enqueue(under(message_id, work))
    results = broker.send_many([work.message(), under("of-many", work)])
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert all(ttl(redis_client, message_id) in A_DAY for message_id in (*chosen, "of-many"))
    assert isinstance(results[0], Message)
    assert ttl(redis_client, results[0].message_id) in MINUTES


def test_what_was_sent_again_within_minutes_is_a_duplicate(
    broker: BandedRedisBroker, work: "dramatiq.Actor[[], None]"
) -> None:
    sent = work.send()
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    with pytest.raises(DuplicateExecution) as refused:
        broker.enqueue(sent)
    assert refused.value.state is State.COMPLETED


def test_what_came_through_a_list_is_known_for_a_day(
    broker: BandedRedisBroker, work: "dramatiq.Actor[[], None]", redis_url: str, redis_client: redis.Redis
) -> None:
    producer = RedisBroker(client=client_of(redis_url))
    producer.enqueue(work.message())
    with running(broker):
        wait_until(lambda: redis_client.keys("exec_queue:end:*"), what="its end")
    (key,) = redis_client.keys("exec_queue:end:*")  # type: ignore[misc]
    assert int(redis_client.ttl(key)) in A_DAY  # type: ignore[arg-type]


def test_what_a_hint_stands_for_is_known_for_a_day(
    redis_url: str, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    broker = plain_redis_broker(redis_url)
    dramatiq.set_broker(broker)

    @dramatiq.actor(band="HIGH")
    def hinted() -> None: ...

    sent = hinted.send()
    with running(broker):
        wait_until(lambda: ttl(redis_client, sent.message_id) in A_DAY, what="its end")
    broker.close()


class ForgetsSteps(Middleware):
    """The first attempt of the parent is lost once its hooks have run, and what they sent is forgotten."""

    def __init__(self, client: redis.Redis, queue: ExecutionQueueService) -> None:
        self._client = client
        self._queue = queue
        self.lost = False

    def before_ack(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
        """In the parent's thread, behind its after-hooks."""
        if self.lost or message.actor_name != "first":
            return
        self.lost = True
        wait_until(lambda: self._client.keys("exec_queue:end:*"), what="the step's end")
        self._client.delete(*self._client.keys("exec_queue:end:*"))  # type: ignore[misc]
        grant = current_grant()
        assert grant is not None
        self._queue.retry(grant.execution_id, grant.attempt)  # as the reaper does


def test_a_step_does_not_run_twice_while_its_parent_lives_however_late_the_parent_runs_again(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def first() -> str:
        ran.append("first")
        return "result"

    @dramatiq.actor(band="HIGH")
    def step(result: str) -> None:
        ran.append("step")

    broker.add_middleware(ForgetsSteps(redis_client, queue))
    parent = first.message()
    with running(broker):
        (parent | step.message_with_options()).run()
        broker.join("default", timeout=GENEROUS_MS)
    assert sorted(ran) == ["first", "first", "step"]
    assert queue.views.meta(parent.message_id) == {"state": "COMPLETED", "attempt": "2"}


def test_a_grant_of_which_nothing_is_known_any_more_is_a_stale_one(
    broker: BandedRedisBroker,
    queue: ExecutionQueueService,
    redis_client: redis.Redis,
    caplog: pytest.LogCaptureFixture,
) -> None:
    @dramatiq.actor(band="HIGH")
    def overtaken() -> None:
        queue.release(sent.message_id)
        redis_client.delete(f"exec_queue:end:{sent.message_id}")

    sent = overtaken.send()
    with running(broker):
        wait_until(lambda: "settlement_refused" in events(caplog), what="its settlement")
        wait_until(lambda: broker.process.permits.free == 4, what="its thread is free")
    assert queue.views.meta(sent.message_id) == {}

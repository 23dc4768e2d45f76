"""A message that is sent again is another execution; the same sending that reaches us twice is one."""

from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
from dramatiq import Message, group, pipeline
from dramatiq.brokers.redis import RedisBroker
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend
from proxy import calls, proxy_before
from working import running

from bandmaster import BandedRedisBroker, DuplicateExecution, ExecutionQueueService
from bandmaster.middleware.worker.list_consumer import ListConsumer
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until


@pytest.fixture
def plain_producer(redis_url: str) -> Iterator[RedisBroker]:
    """A process that knows nothing of bands."""
    producer = RedisBroker(client=client_of(redis_url))
    yield producer
    producer.close()


def executions(queue: ExecutionQueueService, verb: str = "park") -> list[str]:
    """Whose journal entries are these."""
    return [entry.execution_id for entry in queue.journal.entries() if entry.verb == verb]


def ran_all(broker: BandedRedisBroker, ran: list[Any], count: int, *queues: str) -> None:
    """Work until so many have run, and nothing is left that might run beyond."""
    with running(broker):
        wait_until(lambda: len(ran) >= count, what="all have run")
        for queue in queues or ("default",):
            broker.join(queue, timeout=GENEROUS_MS)


def test_a_pipeline_that_runs_again_runs_all_of_its_steps(
    broker: BandedRedisBroker, queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    backend = RedisBackend(client=redis_client)
    broker.add_middleware(Results(backend=backend))
    ran: list[int] = []

    @dramatiq.actor(queue_name="plain")
    def ungated(number: int) -> int:
        ran.append(number)
        return number + 1

    @dramatiq.actor(band="HIGH", store_results=True)
    def gated(number: int) -> int:
        ran.append(number)
        return number + 1

    for first in (ungated, gated):
        ran.clear()
        pipe = pipeline([first.message(1), gated.message_with_options(), gated.message_with_options()])
        with running(broker):
            for turn in (1, 2):
                pipe.run()
                wait_until(lambda turn=turn: len(ran) == 3 * turn, what="the whole pipeline has run")  # type: ignore[misc]
                assert pipe.get_result(block=True, timeout=GENEROUS_MS) == 4
            broker.join("default", timeout=GENEROUS_MS)
        assert ran == [1, 2, 3, 1, 2, 3]


def test_a_message_sent_again_is_another_execution(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    message = work.message(7)
    first = broker.enqueue(message)
    second = broker.enqueue(message)
    together = broker.send_many([message, message])
    for sent in (first, second):
        with pytest.raises(DuplicateExecution):
            broker.enqueue(sent)  # it names its execution
        assert isinstance(broker.send_many([sent])[0], DuplicateExecution)
    ids = [sent.options["execution_id"] for sent in (first, second, *together) if isinstance(sent, Message)]
    assert len(set(ids)) == 4
    assert ids[0] == message.message_id
    assert all(each.startswith(f"{message.message_id}.") for each in ids[1:])
    ran_all(broker, ran, 4)
    assert ran == [7] * 4
    assert {queue.views.meta(each)["state"] for each in ids} == {State.COMPLETED}


def test_a_group_that_runs_again_runs_all_of_it(broker: BandedRedisBroker) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    together = group([work.message(number) for number in range(3)])
    for _ in range(2):
        together.run()
    ran_all(broker, ran, 6)
    assert sorted(ran) == [0, 0, 1, 1, 2, 2]


def test_a_send_whose_outcome_is_unknown_is_the_same_when_it_is_repeated(
    redis_url: str, queue: ExecutionQueueService
) -> None:
    with proxy_before(redis_url) as proxy:
        broker = BandedRedisBroker(client=client_of(proxy.url), deadline_seconds=1.0)

        @dramatiq.actor(broker=broker, band="HIGH")
        def work() -> None: ...

        message, in_bulk = work.message(), work.message()
        proxy.lose_reply(lambda command: calls(command, "park_"))
        with pytest.raises(QueueUnavailable):
            broker.enqueue(message)
        with pytest.raises(QueueUnavailable):
            broker.send_many([in_bulk])
        proxy.lose_reply(lambda _: False)
        with pytest.raises(DuplicateExecution, match=message.message_id):
            broker.enqueue(message)
        assert isinstance(broker.send_many([in_bulk])[0], DuplicateExecution)
        broker.close()
    assert len(executions(queue)) == 2


def test_a_plain_producers_message_runs_each_time_it_is_sent(
    broker: BandedRedisBroker, plain_producer: RedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[int] = []

    @dramatiq.actor(band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    message: Message[Any] = Message("default", "work", (1,), {}, {})
    plain_producer.declare_queue("default")
    for _ in range(2):
        plain_producer.enqueue(message)
    plain_producer.enqueue(message, delay=10)
    ran_all(broker, ran, 3)
    assert ran == [1, 1, 1]
    assert all(each.startswith(f"{message.message_id}.") for each in executions(queue))


def test_a_listed_message_that_was_parked_and_not_acknowledged_is_one(
    broker: BandedRedisBroker, plain_producer: RedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        ran.append(name)

    plain_producer.declare_queue("default")
    plain_producer.enqueue(Message("default", "work", ("unnamed",), {}, {}))
    plain_producer.enqueue(Message("default", "work", ("named",), {}, {"execution_id": "order-7"}))
    # As a process that died after it had parked them, and before it acknowledged.
    dying = broker.consume("default")
    assert isinstance(dying, ListConsumer)
    for message in dying.fetch(2):
        broker.bands.listed.park(message, None)
        dying.requeue([dramatiq.MessageProxy(message)])
    ran_all(broker, ran, 2)
    assert sorted(ran) == ["named", "unnamed"]
    assert queue.views.dead() == []


def test_a_named_id_that_is_taken_is_a_dead_letter_where_nobody_can_be_told(
    broker: BandedRedisBroker, plain_producer: RedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def work(name: str) -> None:
        ran.append(name)

    plain_producer.declare_queue("default")
    for name in ("first", "second"):
        plain_producer.enqueue(Message("default", "work", (name,), {}, {"execution_id": "order-7"}))
    ran_all(broker, ran, 1)
    (dead,) = queue.views.dead()
    meta = queue.views.meta(dead)
    assert (dead.startswith("order-7."), meta["state"], meta["reason"]) == (True, State.FAILED, "duplicate")
    assert len(ran) == 1

    @dramatiq.actor(band="HIGH")
    def before() -> str:
        return "third"

    with running(broker):
        (before.message() | work.message_with_options(execution_id="order-7")).run()
        wait_until(lambda: len(queue.views.dead()) == 2, what="the step is refused")
    assert len(ran) == 1


def test_a_named_id_that_is_taken_reaches_who_sends(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(band="HIGH")
    def work() -> None: ...

    message = work.message_with_options(execution_id="order-7")
    broker.enqueue(message)
    for again in (message, work.message_with_options(execution_id="order-7")):
        with pytest.raises(DuplicateExecution, match="order-7"):
            broker.enqueue(again)
        assert isinstance(broker.send_many([again])[0], DuplicateExecution)


@pytest.mark.parametrize("name", [None, "the-second-step"])
def test_a_hook_that_runs_again_after_a_crash_sends_the_next_step_once(
    name: str | None, broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    ran: list[str] = []

    @dramatiq.actor(band="HIGH")
    def first() -> str:
        ran.append("first")
        return "x"

    @dramatiq.actor(band="HIGH")
    def second(value: str) -> None:
        ran.append("second")

    class DiesOnce(dramatiq.Middleware):
        """Loses the grant when the hooks have run, as a process that dies before it settles."""

        def before_ack(self, broker: dramatiq.Broker, message: dramatiq.MessageProxy) -> None:
            if message.actor_name == "first" and ran.count("first") == 1:
                raise dramatiq.middleware.MiddlewareError("it dies")

    broker.add_middleware(DiesOnce())
    options: dict[str, Any] = {} if name is None else {"execution_id": name}
    queue.controls.change_setting("lease_ttl_ms", 100)
    (first.message() | second.message_with_options(**options)).run()
    with running(broker):
        wait_until(lambda: ran.count("second") == 1, what="the next step ran")
        entry = next(each for each in queue.journal.entries() if each.verb == "admit")
        queue.transitions.settle(Retry(entry.execution_id, 1, "infrastructure", reason="lease_lost"))
        wait_until(lambda: ran.count("first") == 2, what="it runs again")
        broker.join("default", timeout=GENEROUS_MS)
    assert ran.count("second") == 1
    assert queue.views.dead() == []


def test_results_are_found_by_the_messages_own_id(
    broker: BandedRedisBroker, plain_producer: RedisBroker, redis_client: redis.Redis
) -> None:
    backend = RedisBackend(client=redis_client)
    broker.add_middleware(Results(backend=backend))

    @dramatiq.actor(band="HIGH", store_results=True)
    def work() -> int:
        return 7

    plain_producer.declare_queue("default")
    sent: Message[Any] = Message("default", "work", (), {}, {})
    plain_producer.enqueue(sent)
    with running(broker):
        assert sent.get_result(backend=backend, block=True, timeout=GENEROUS_MS) == 7

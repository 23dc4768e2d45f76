"""On a plain broker, too, a message that is sent again is another execution."""

from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker
from working import plain_redis_broker, running

from bandmaster import ExecutionQueueService
from bandmaster.scheduler.server.connection import client_of
from waiting import wait_until


@pytest.fixture
def plain_producer(redis_url: str) -> Iterator[RedisBroker]:
    """A process that knows nothing of bands."""
    producer = RedisBroker(client=client_of(redis_url))
    yield producer
    producer.close()


def executions(queue: ExecutionQueueService, verb: str = "park") -> list[str]:
    """Whose journal entries are these."""
    return [entry.execution_id for entry in queue.journal.entries() if entry.verb == verb]


def test_on_a_plain_broker_a_message_sent_again_runs_again(redis_url: str, queue: ExecutionQueueService) -> None:
    broker = plain_redis_broker(redis_url)
    ran: list[int] = []

    @dramatiq.actor(broker=broker, band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    message = work.message(1)
    with running(broker):
        for times in (1, 2):
            broker.enqueue(message)
            wait_until(lambda times=times: len(ran) == times, what="it has run")  # type: ignore[misc]
        broker.enqueue(message, delay=10)
        wait_until(lambda: len(ran) == 3, what="it has run")
    broker.close()


def test_on_a_plain_broker_a_plain_producers_message_runs_each_time(
    redis_url: str, plain_producer: RedisBroker, queue: ExecutionQueueService
) -> None:
    broker = plain_redis_broker(redis_url)
    ran: list[int] = []

    @dramatiq.actor(broker=broker, band="HIGH")
    def work(number: int) -> None:
        ran.append(number)

    plain_producer.declare_queue("default")
    message: Message[Any] = Message("default", "work", (1,), {}, {})
    with running(broker):
        for times in (1, 2):
            plain_producer.enqueue(message)
            wait_until(lambda times=times: len(ran) == times, what="it has run")  # type: ignore[misc]
    broker.close()

"""A worker with more queues than its client's pool has connections: all of them run, and sends find one."""

from collections.abc import Callable, Iterator
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq import Actor
from working import running

from bandmaster import BandedRedisBroker, ExecutionQueueService
from bandmaster.middleware.worker.dramatiq_lists import MOST_WAITED_FOR
from waiting import wait_until

QUEUES = 100
"""As many as the connections of redis-py's pool, unless it is told another number."""
THREADS = 8
FEW_CONNECTIONS = 60
FEW_FOR_LANES = 10
PUMP_AND_PROMOTING = 2
"""The one waits on wake lists, the other for what is due since all threads were taken just now."""

Job = Actor[..., None]


@pytest.fixture
def broker(redis_url: str, queue: ExecutionQueueService) -> Iterator[BandedRedisBroker]:
    """With a pool as an application gets it that names nothing but the server."""
    broker = BandedRedisBroker(url=redis_url)
    broker.emit_after("process_boot")
    yield broker
    broker.close()
    broker.plain_client.connection_pool.disconnect()


def declared(broker: BandedRedisBroker, gated: int) -> "tuple[list[Job], list[str]]":
    """An actor for each queue, the first ones gated, and what ran."""
    ran: list[str] = []
    declare = cast("Callable[..., Job]", dramatiq.actor)  # its overloads know no options as a whole
    actors: list[Job] = []
    for number in range(QUEUES):
        options = {"band": "NORMAL"} if number < gated else {}
        name = f"queue-{number}"
        actors.append(declare(ran.append, broker=broker, actor_name=name, queue_name=name, **options))
    return actors, ran


def connections(client: redis.Redis) -> int:
    """How many the server has, but that of the test."""
    listed: Any = client.client_list()
    return len(listed) - 1


def blocked(client: redis.Redis) -> int:
    """How many clients wait for something in a list or stream."""
    info: Any = client.info("clients")
    return info["blocked_clients"]


@pytest.mark.parametrize("gated", [pytest.param(1, marks=pytest.mark.nightly), 50, 100])
def test_a_hundred_queues_run_on_the_pool_that_a_client_has_by_default(
    broker: BandedRedisBroker, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture, gated: int
) -> None:
    actors, ran = declared(broker, gated)
    names = {actor.actor_name for actor in actors}
    # What an earlier test left may still wait for a moment.
    wait_until(lambda: blocked(redis_client) == 0, what="no client of others")
    before = connections(redis_client)
    with running(broker, threads=THREADS, timeout_ms=1000) as worker:
        wait_until(lambda: all(each.consumer for each in worker.consumers.values()), what="all consume")
        for _ in range(3):
            ran.clear()
            for actor in actors:
                actor.send(actor.actor_name)
            wait_until(lambda: len(ran) == QUEUES, what="all queues")
            assert set(ran) == names
        assert connections(redis_client) - before <= (FEW_FOR_LANES if gated == QUEUES else FEW_CONNECTIONS)
        assert blocked(redis_client) <= PUMP_AND_PROMOTING + MOST_WAITED_FOR
    assert [record for record in caplog.records if record.levelname == "CRITICAL"] == [], "no consumer failed"

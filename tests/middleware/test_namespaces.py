"""Two installations on one server that differ in ``namespace=`` alone: neither sees the other's work (F37)."""

from collections.abc import Callable, Iterator

import dramatiq
import pytest
import redis
from dramatiq import Actor, Broker
from dramatiq.brokers.redis import RedisBroker
from working import running

from bandmaster import BandedRedisBroker, ConcurrencyGate, PriorityBands
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

MakeBroker = Callable[[str], Broker]


@pytest.fixture(params=["banded", "redis"])
def make_broker(request: pytest.FixtureRequest, redis_url: str, redis_client: redis.Redis) -> Iterator[MakeBroker]:
    """Makes the broker of a namespace."""
    made: list[Broker] = []

    def make(namespace: str) -> Broker:
        if request.param == "banded":
            broker: Broker = BandedRedisBroker(client=client_of(redis_url), namespace=namespace)
        else:
            broker = RedisBroker(client=client_of(redis_url), namespace=namespace)
            broker.add_middleware(PriorityBands(client_of(redis_url)))
            broker.add_middleware(ConcurrencyGate(client_of(redis_url)))
        broker.emit_after("process_boot")
        made.append(broker)
        return broker

    yield make
    for broker in made:
        broker.close()


def declared(broker: Broker, ran: list[str], where: str) -> "Actor[[], None]":
    """A gated actor, the same in each installation."""

    @dramatiq.actor(broker=broker, actor_name="work", band="HIGH")
    def work() -> None:
        ran.append(where)

    return work


def test_a_gated_message_runs_where_it_was_sent(make_broker: MakeBroker) -> None:
    ran: list[str] = []
    prod, staging = make_broker("dramatiq"), make_broker("staging")
    in_prod, in_staging = declared(prod, ran, "prod"), declared(staging, ran, "staging")
    with running(prod):
        in_staging.send()
        in_prod.send()
        prod.join("default", timeout=GENEROUS_MS)
        wait_until(lambda: ran == ["prod"], what="only its own ran")
        with running(staging):
            wait_until(lambda: len(ran) == 2, what="the other's ran, in its own worker")
    assert ran == ["prod", "staging"]


def test_the_prefix_follows_the_namespace_unless_it_is_given(redis_url: str, redis_client: redis.Redis) -> None:
    def prefix(**parameters: str) -> str:
        broker = BandedRedisBroker(client=client_of(redis_url), **parameters)  # type: ignore[arg-type]
        broker.close()
        return broker.queue.scripts.keys.prefix

    assert prefix() == "exec_queue"
    assert prefix(namespace="dramatiq") == "exec_queue"
    assert prefix(namespace="staging") == "staging:exec_queue"
    assert prefix(namespace="staging", prefix="exec_queue") == "exec_queue"

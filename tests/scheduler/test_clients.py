"""Clients that cannot be worked with are refused with a sentence, at every door, and nothing is sent."""

from collections.abc import Callable
from typing import Any, Final, cast

import pytest
import redis
import redis.asyncio

from bandmaster import BandedRedisBroker, ConcurrencyGate, ExecutionQueueService, InvalidRequest, PriorityBands

DOORS: Final[dict[str, Callable[[Any], object]]] = {
    "the service": ExecutionQueueService,
    "the broker": lambda client: BandedRedisBroker(client=client),
    "the bands": PriorityBands,
    "the gate": ConcurrencyGate,
}


def of_a_cluster() -> object:
    """Without its constructor, which asks the cluster."""
    return redis.RedisCluster.__new__(redis.RedisCluster)


REFUSED: Final[dict[str, tuple[Callable[[], object], str]]] = {
    "for asyncio": (redis.asyncio.Redis, "redis_client: a client for asyncio.*a redis.Redis; from asyncio, `await"),
    "for asyncio, of a cluster": (lambda: redis.asyncio.RedisCluster("127.0.0.1", 1), "a client for asyncio"),
    "of a cluster": (of_a_cluster, "redis_client: a client of a cluster"),
    "a URL": (lambda: "redis://127.0.0.1", "redis_client: 'redis://127.0.0.1' is no client"),
}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", REFUSED)
@pytest.mark.filterwarnings("ignore")  # the clients' own, of what was never connected
def test_a_client_of_another_kind_is_refused(door: str, kind: str) -> None:
    make, problem = REFUSED[kind]
    with pytest.raises(InvalidRequest, match=problem):
        DOORS[door](cast("Any", make()))


def test_a_client_of_a_subclass_is_taken(redis_url: str) -> None:
    class Own(redis.Redis):
        """An application's own."""

    with Own.from_url(redis_url) as client:
        assert ExecutionQueueService(client).get_queue_status()["queue_depth"] == 0

"""The slots of an empty server. At the end of each test nothing may be left of them, whatever happened."""

from collections.abc import Iterator

import pytest
import redis
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster import ExecutionQueueService, Slots


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """The queue on an empty server."""
    return ExecutionQueueService(redis_client)


@pytest.fixture
def slots(queue: ExecutionQueueService) -> Iterator[Slots]:
    """Its slots, for code of this process."""
    with Slots(queue) as opened:
        yield opened
    Invariants().check(read_dump(queue.scripts.client, queue.scripts.keys))

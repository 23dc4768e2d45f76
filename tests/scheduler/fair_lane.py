"""A fair lane of users, and what its tests do with it."""

from collections.abc import Iterable

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.model.priority import Priority

LANE = "mails"


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    queue = TurnedQueue(redis_client)
    queue.shares.share(LANE, "user")
    return queue


def send(queue: TurnedQueue, names: Iterable[str], user: str | None, band: Priority = Priority.NORMAL) -> None:
    queue.transitions.park_many([Candidate(name, LANE, int(band), "send_mail", user, event=b"x") for name in names])


def take(queue: TurnedQueue, count: int = 1, lane: str = LANE) -> list[str]:
    return [grant.execution_id for grant in queue.transitions.admit((lane,), count, lease_ms=10**9).grants]


def named(user: str, count: int, begin: int = 0) -> list[str]:
    return [f"{user}-{number}" for number in range(begin, begin + count)]

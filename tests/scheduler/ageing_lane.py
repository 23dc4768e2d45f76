"""A lane in which what waits rises, and what its tests do with it."""

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.model.priority import Priority

LANE = "mails"
T_SECONDS = 60


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """Its clock is turned, and what waits in its lane rises."""
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("ageing_seconds", T_SECONDS, lane=LANE)
    queue.maintenance.sweep()  # so that nothing has to be indexed anew
    return queue


def send(
    queue: TurnedQueue, *names: str, band: Priority = Priority.LOW, lane: str = LANE, user: str | None = None
) -> None:
    """Let them wait."""
    queue.transitions.park_many([Candidate(name, lane, int(band), "send", user, message=b"x") for name in names])


def take(queue: TurnedQueue, count: int = 1, lane: str = LANE) -> list[str]:
    """As a worker that has so many threads free."""
    return [grant.execution_id for grant in queue.transitions.admit((lane,), count, lease_ms=10**9).grants]


def a_worker_asks(queue: TurnedQueue, times: int = 1) -> None:
    """Its threads are taken by another lane's work."""
    for _ in range(times):
        queue.transitions.admit(("another",), 1)


def band(queue: TurnedQueue, name: str) -> Priority:
    """Where it stands."""
    return Priority(int(queue.views.meta(name)["band"]))

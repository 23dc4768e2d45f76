"""The scheduler process's rounds of planning: each begins as long after the one before as that one said at its end."""

import threading
import time
from collections.abc import Iterator

import pytest
import redis
from apscheduler.schedulers.background import BackgroundScheduler

from bandmaster.scheduler.process.leadership import Leadership
from bandmaster.scheduler.process.planning_rounds import SHORTEST_SECONDS, PlanningRounds
from bandmaster.scheduler.transport.scripts import Scripts
from waiting import wait_until

ROUND_SECONDS = 0.3
NEVER_SECONDS = 300.0


class Slow(PlanningRounds):
    """Rounds that last a while; the first two are followed at once, the others by none."""

    def __init__(self, client: redis.Redis) -> None:
        super().__init__(Scripts(client), Leadership(Scripts(client)))
        self.began = list[float]()
        self.ended = list[float]()
        self._waits = iter((SHORTEST_SECONDS, SHORTEST_SECONDS))

    def round(self) -> bool:
        self.began.append(time.monotonic())
        led = super().round()
        threading.Event().wait(ROUND_SECONDS)
        self._wait_seconds = next(self._waits, NEVER_SECONDS)
        self.ended.append(time.monotonic())
        return led


@pytest.fixture
def scheduler() -> Iterator[BackgroundScheduler]:
    scheduler = BackgroundScheduler(timezone="UTC")
    yield scheduler
    scheduler.shutdown(wait=False)


def test_the_next_round_is_as_far_from_the_end_of_a_round_as_it_said(
    redis_client: redis.Redis, scheduler: BackgroundScheduler, caplog: pytest.LogCaptureFixture
) -> None:
    rounds = Slow(redis_client)
    rounds.add_job(scheduler)
    scheduler.start()
    wait_until(lambda: len(rounds.ended) == 3, what="three rounds")
    threading.Event().wait(2 * ROUND_SECONDS)
    assert len(rounds.began) == 3, "the third said that the next one is much later"
    for ended, began in zip(rounds.ended, rounds.began[1:], strict=False):
        assert began - ended >= SHORTEST_SECONDS / 2
    assert "maximum number of running instances" not in caplog.text

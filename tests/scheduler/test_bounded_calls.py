"""What one call may cost, however many lanes there are and whatever waits: commands are counted, and not time."""

from collections.abc import Callable

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.settlements import Release
from bandmaster.scheduler.engine.transitions import Candidate, Next
from bandmaster.scheduler.model.errors import QueueFull
from bandmaster.scheduler.model.states import State

LANES = 3_000
MOST_COMMANDS = 300
"""Of one call; those below would take thousands if they looked at every lane."""
MOST_LANES = 1_000
"""As many lanes are read of those that nobody serves (`ranking.lua`)."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """One execution waits in each of very many lanes, and no worker asks for any."""
    queue = TurnedQueue(redis_client)
    for start in range(0, LANES, 500):
        numbers = range(start, start + 500)
        queue.transitions.park_many([Candidate(f"e{n}", f"lane-{n}", 2, "work", event=b"{}") for n in numbers])
    queue.transitions.park(Candidate("mine", "mine", 2, "work", event=b"{}"))
    return queue


def cost(client: redis.Redis, act: Callable[[], object]) -> int:
    """How many commands the server ran."""
    before = _commands(client)
    act()
    return _commands(client) - before


def _commands(client: redis.Redis) -> int:
    statistics: dict[str, dict[str, int]] = client.info("commandstats")  # type: ignore[assignment]
    return sum(each["calls"] for each in statistics.values())


def test_what_is_for_all_lanes_wakes_the_best_and_not_every_one(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    controls = queue.controls
    assert cost(redis_client, lambda: controls.change_setting("max_concurrent", 5)) < MOST_COMMANDS
    assert redis_client.llen(queue.scripts.keys.wake("lane-0")) == 2
    controls.pause("*")
    assert cost(redis_client, lambda: controls.resume("*")) < MOST_COMMANDS
    controls.pause("gpu")
    assert cost(redis_client, lambda: controls.resume("gpu")) < 50


def test_a_settlement_beside_very_many_lanes_that_nobody_serves(queue: TurnedQueue, redis_client: redis.Redis) -> None:
    (grant,) = queue.transitions.admit(("mine",), 1, lease_ms=30_000, consumer=True).grants
    settled = [Release("mine", 1, State.COMPLETED, grant.nonce)]
    call = queue.transitions.prepare_exchange(settled, Next(("mine",), 1, 30_000))
    assert cost(redis_client, call.run) < 80 + MOST_LANES / 100


def test_the_lane_of_a_live_worker_is_found_among_many_that_nobody_serves(queue: TurnedQueue) -> None:
    far = f"lane-{MOST_LANES // 2}"
    queue.transitions.admit((far,), 0, lease_ms=30_000, consumer=True)
    (grant,) = queue.transitions.admit(("mine",), 1, lease_ms=30_000, consumer=True).grants
    queue.transitions.park(Candidate("mine-too", "mine", 2, "work", event=b"{}"))
    settled = [Release("mine", 1, State.COMPLETED, grant.nonce)]
    answer = queue.transitions.prepare_exchange(settled, Next(("mine",), 1, 30_000)).run()
    assert answer[4] == [], "what waits in the other lane came before"


def test_refusals_of_a_full_lane_expire_a_bounded_number_elsewhere(
    queue: TurnedQueue, redis_client: redis.Redis
) -> None:
    queue.controls.change_setting("stale_timeout_seconds", 10, lane="old")
    queue.controls.change_setting("max_queue_size", 1, lane="full")
    queue.transitions.park_many([Candidate(f"old-{n}", "old", 2, "work", event=b"{}") for n in range(1_000)])
    queue.transitions.park(Candidate("first", "full", 2, "work", event=b"{}"))
    queue.clock.turn(11_000)
    refused = [Candidate(f"new-{n}", "full", 2, "work", event=b"{}") for n in range(50)]
    assert all(isinstance(each, QueueFull) for each in queue.transitions.park_many(refused))
    assert redis_client.zcard(queue.scripts.keys.named("deadlines")) == 900

"""F18: a call that finds that the clock leapt takes no longer for many leases than for few: all others wait for it."""

from typing import Any

import pytest
import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Renewal
from bandmaster.scheduler.engine.transitions import Candidate

pytestmark = pytest.mark.slow

FEW, MANY = 50, 10_000
LEAPS = 5
LEAP_MS = 600_000
LEASE_MS = 30_000
TIMES_AS_LONG = 20
"""Far more than a look-up in a larger index costs, and far less than one for each lease."""


def holding(client: redis.Redis, count: int) -> tuple[TurnedQueue, list[str]]:
    """A new queue in which so many run, and their names."""
    client.flushdb()
    queue = TurnedQueue(client)
    for setting in ("max_concurrent_executions", "max_queue_size"):
        queue.controls.change_setting(setting, count)
    names = [f"e{number}" for number in range(count)]
    queue.transitions.park_many([Candidate(name, queue.lane, 2, "pod", event=b"{}") for name in names])
    while queue.transitions.admit((queue.lane,), 100, lease_ms=LEASE_MS).grants:
        pass
    assert len(queue.views.active()) == count
    return queue, names


def usec_of_a_leap(queue: TurnedQueue, names: list[str]) -> int:
    """What the server needs for the first round after a leap, every lease being fresh before; the least of several."""

    def spent() -> int:
        statistics: Any = queue.scripts.client.info("commandstats")
        return int(statistics["cmdstat_fcall"]["usec"])

    costs: list[int] = []
    for _ in range(LEAPS):
        queue.clock.turn(1_000)
        queue.maintenance.reap()  # one that finds nothing, so that each leap is the first
        renewals = queue.transitions.renew([(name, 1, "") for name in names], lease_ms=LEASE_MS)
        assert {*renewals} == {Renewal.RENEWED}
        queue.clock.turn(LEAP_MS)
        before = spent()
        assert queue.maintenance.reap() == 0
        costs.append(spent() - before)
    return min(costs)


def test_a_leap_costs_no_more_with_many_leases_than_with_few(redis_client: redis.Redis) -> None:
    few, many = (usec_of_a_leap(*holding(redis_client, count)) for count in (FEW, MANY))
    assert many < TIMES_AS_LONG * few, f"{many} µs with {MANY} leases, {few} µs with {FEW}"

"""Repairs ride on every settlement, whoever else calls meanwhile; the scripts know how long a broker's leases are."""

import dramatiq
import redis
from defects.contrast import event
from middleware.working import running
from turned_queue import TurnedQueue

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.model.states import State
from waiting import wait_until

LEASE_MS = 30_000
LEFT = 64
"""Leases that a killed worker leaves."""
SECONDS = 60


def test_settlements_reap_beside_a_producer_that_is_the_first_to_call_in_each_second(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 1_000)
    queue.enqueue_many([event(f"left-{number}") for number in range(LEFT)])
    left = queue.transitions.admit((queue.lane,), LEFT, lease_ms=LEASE_MS).grants
    queue.enqueue_many([event(f"held-{number}") for number in range(SECONDS)])
    held = queue.transitions.admit((queue.lane,), SECONDS, lease_ms=100 * LEASE_MS).grants
    assert (len(left), len(held)) == (LEFT, SECONDS)
    for second, grant in enumerate(held):
        queue.clock.turn(1_000)
        queue.enqueue(event(f"sent-{second}"))
        queue.transitions.release(grant.execution_id, grant.attempt, State.COMPLETED)
    assert queue.views.active() == []


def test_the_scripts_are_told_of_leases_of_another_length(redis_url: str, redis_client: redis.Redis) -> None:
    with redis.Redis.from_url(redis_url) as client:
        broker = BandedRedisBroker(client=client, lease_ttl_ms=1_500)

        @dramatiq.actor(broker=broker, band="HIGH")
        def work() -> None: ...

        work.send()
        with running(broker):
            wait_until(lambda: broker.queue.views.status().settings["lease_ttl_ms"] == 1_500, what="the setting")
        broker.close()

"""F5, D28: a leader that slept past its TTL is told so by its own clock, and refused by Redis whatever it believes."""

import time

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.maintenance import Maintenance
from bandmaster.scheduler.model.errors import NotLeader
from bandmaster.scheduler.process.leadership import Leadership
from waiting import wait_until

TTL_MS = 50
REPAIRS = ("reap", "promote", "sweep", "wake")


@pytest.fixture
def queue(redis_client: redis.Redis) -> TurnedQueue:
    """One that waits, one that is due, one whose lease is over, one that is stale."""
    queue = TurnedQueue(redis_client)
    queue.enqueue(event("past"))
    queue.transitions.admit((queue.lane,), 1, lease_ms=1)
    queue.enqueue(event("waits"))
    queue.clock.turn(10_000)
    return queue


@pytest.fixture
def asleep(queue: TurnedQueue) -> tuple[Leadership, Maintenance]:
    """A leader in the middle of its tick, and another that was elected meanwhile."""
    sleeper = Leadership(queue.scripts, ttl_ms=TTL_MS)
    sleeper.elect()
    epoch = sleeper.epoch
    assert epoch is not None
    other = Leadership(queue.scripts, ttl_ms=60_000)
    wait_until(other.elect, what="the other's election")
    return sleeper, queue.maintenance.under(sleeper.leader_id, epoch)


@pytest.mark.parametrize("repair", REPAIRS)
def test_a_stale_leaders_writes_are_refused(
    repair: str, queue: TurnedQueue, asleep: tuple[Leadership, Maintenance]
) -> None:
    _, tick = asleep
    before = queue.scripts.client.dbsize(), queue.views.meta("past"), list(queue.journal.entries())
    with pytest.raises(NotLeader):
        getattr(tick, repair)()
    assert before == (queue.scripts.client.dbsize(), queue.views.meta("past"), list(queue.journal.entries()))


def test_a_stale_leader_knows_it_without_asking(asleep: tuple[Leadership, Maintenance]) -> None:
    sleeper, _ = asleep
    assert not sleeper.leads


def test_a_stale_leader_neither_renews_nor_ends_the_others_leadership(
    queue: TurnedQueue, asleep: tuple[Leadership, Maintenance]
) -> None:
    sleeper, _ = asleep
    key = queue.scripts.keys.named("leader")
    held_by_other = queue.scripts.client.get(key)
    sleeper.resign()
    assert queue.scripts.client.get(key) == held_by_other
    assert not sleeper.elect()
    assert queue.scripts.client.get(key) == held_by_other


def test_nobody_leads_by_an_epoch_whose_time_is_over_though_no_other_was_elected(queue: TurnedQueue) -> None:
    sleeper = Leadership(queue.scripts, ttl_ms=60_000)
    sleeper.elect()
    tick = queue.maintenance.under(sleeper.leader_id, sleeper.epoch or 0)
    assert tick.wake() >= 0
    queue.scripts.client.delete(queue.scripts.keys.named("leader"))  # as when its TTL is over
    with pytest.raises(NotLeader):
        tick.wake()


def test_each_election_has_a_higher_epoch_and_renewing_keeps_it(queue: TurnedQueue) -> None:
    leaders = [Leadership(queue.scripts, ttl_ms=60_000) for _ in range(3)]
    epochs: list[int | None] = []
    for leader in leaders:
        assert leader.elect()
        assert leader.elect()
        epochs.append(leader.epoch)
        leader.resign()
    assert epochs == [1, 2, 3]


def test_the_deadline_is_counted_from_before_the_renewal_was_sent(queue: TurnedQueue) -> None:
    leader = Leadership(queue.scripts, ttl_ms=60_000)
    before = time.monotonic()
    leader.elect()
    ttl_ms = queue.scripts.client.pttl(queue.scripts.keys.named("leader"))
    assert before + 60 <= time.monotonic() + ttl_ms / 1000 + 0.001, "its own deadline is never after the key's"

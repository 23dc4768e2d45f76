"""Keys that somebody deleted by hand: what is left of them is cleared away, and nobody else is held back."""

from datetime import UTC, datetime

import pytest
import redis
from defects.contrast import event
from model.clock import START_MS
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, Renewal
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

LEASE_SECONDS = 100
UNRENEWED_SECONDS = 300 + 60 + 30 + 10
"""Of a grant of `try_schedule`: until it starts, its timeout, the grace; and a round."""
"""An event's own timeout of 60 s and the grace, and a round more."""


def test_one_whose_record_is_gone_is_no_candidate_any_more(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("ghost"))
    queue.enqueue(event("next"))
    redis_client.delete("exec_queue:meta:ghost")
    started = queue.try_schedule()
    assert started is not None
    assert started[0] == "next"
    assert queue.views.pending() == []
    assert queue.views.members(queue.lane) == {"next"}


def test_one_whose_record_is_gone_behind_a_gate_does_not_block_it(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.set_limit("gpu", 0)
    for execution_id in ("ghost", "next"):
        queue.enqueue(event(execution_id, gates=["gpu"]))
    assert queue.try_schedule() is None
    redis_client.delete("exec_queue:meta:ghost")
    queue.controls.set_limit("gpu", 1)
    admission = queue.transitions.admit((queue.lane,), 1)
    assert [grant.execution_id for grant in admission.grants] == ["next"]
    assert not admission.more


def test_a_grant_whose_record_is_gone_does_not_stop_the_reaper(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("lease_ttl_ms", 100)
    for execution_id in ("ghost", "lost"):
        queue.enqueue(event(execution_id))
    queue.transitions.admit((queue.lane,), 2, lease_ms=1)
    redis_client.delete("exec_queue:meta:ghost")
    assert queue.release("ghost") is Code.UNKNOWN
    # The release may have reaped it already, beside its own work.
    wait_until(lambda: queue.maintenance.reap() or queue.views.meta("lost")["state"] == "PENDING")
    assert queue.views.meta("lost")["state"] == "PENDING"
    assert redis_client.zcard("exec_queue:lease") == 0


@pytest.fixture
def turned(redis_client: redis.Redis) -> TurnedQueue:
    """One runs and passes three gates, one of which has room for one; its record is gone. One waits for that gate."""
    queue = TurnedQueue(redis_client)
    queue.controls.set_limit("gpu", 1)
    queue.enqueue(event("ghost", gates=["gpu"], user="ann", timeout_seconds=60))
    assert queue.try_schedule() is not None
    queue.enqueue(event("next", gates=["gpu"]))
    redis_client.delete("exec_queue:meta:ghost")
    return queue


def test_a_grant_whose_record_is_gone_holds_its_slot_and_its_gates_no_longer_than_its_lease(
    turned: TurnedQueue, redis_client: redis.Redis
) -> None:
    assert turned.try_schedule() is None, "a lease is a lease"
    turned.let_time_pass(UNRENEWED_SECONDS)
    assert turned.views.active() == []
    assert turned.views.held(["gpu", "user:ann", "action:pod"]) == [0, 0, 0]
    assert redis_client.keys("exec_queue:*ghost*") == []
    assert turned.views.members(turned.lane) == {"next"}
    started = turned.try_schedule()
    assert started is not None
    assert started[0] == "next"
    Invariants().check(read_dump(redis_client, turned.scripts.keys))


@pytest.mark.parametrize("due_ms", [None, START_MS + 60_000], ids=["waiting", "scheduled"])
def test_one_that_waits_and_whose_record_is_gone_is_forgotten_with_its_payload(
    due_ms: int | None, redis_client: redis.Redis
) -> None:
    queue = TurnedQueue(redis_client)
    due = None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC)
    queue.enqueue(event("ghost", scheduled_at=due))
    redis_client.delete("exec_queue:meta:ghost")
    queue.let_time_pass(60)
    assert queue.try_schedule() is None
    assert redis_client.keys("exec_queue:*ghost*") == []
    if due is None:  # which lane a scheduled one was of, only its record knew
        assert queue.views.members(queue.lane) == set()


def test_a_lost_record_whose_id_is_sent_again_gives_back_its_own_gate_and_leaves_the_new_one_alone(
    redis_client: redis.Redis,
) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.set_limit("old", 1)
    queue.enqueue(event("x", gates=["old"], action="pod"))
    queue.transitions.admit((queue.lane,), 1, lease_ms=LEASE_SECONDS * 1000)
    redis_client.delete("exec_queue:meta:x")
    queue.enqueue(event("x", gates=["new"]))
    (grant,) = queue.transitions.admit((queue.lane,), 1, lease_ms=LEASE_SECONDS * 1000).grants
    for _ in range(LEASE_SECONDS + 1):
        queue.clock.turn(1_000)
        assert queue.transitions.renew([grant]) == [Renewal.RENEWED]
        queue.maintenance.reap()
    assert queue.views.meta("x")["attempt"] == "1"
    assert queue.views.held(["old", "new", "action:pod"]) == [0, 1, 1]
    assert queue.views.active() == ["x"]
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_what_is_limited_and_paused_holds_when_the_settings_are_deleted(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.set_limit("gpu", 1)
    queue.controls.pause("lane:mail")
    queue.enqueue_many([event(name, gates=["gpu"]) for name in ("a", "b")])
    redis_client.delete("exec_queue:settings")
    admission = queue.transitions.admit((queue.lane,), 2)
    assert [grant.execution_id for grant in admission.grants] == ["a"]
    assert queue.transitions.admit((queue.lane,), 2).grants == []
    mail = ExecutionQueueService(redis_client, lane="mail")
    mail.enqueue(event("c"))
    assert mail.try_schedule() is None


def test_a_key_of_another_type_is_said_by_the_engine_s_own_error(redis_client: redis.Redis) -> None:
    redis_client.set("exec_queue:pending", "not ours")
    queue = ExecutionQueueService(redis_client)
    with pytest.raises(QueueUnavailable, match=r"Redis refused: .*wrong kind of value"):
        queue.enqueue(event("x"))
    with pytest.raises(QueueUnavailable, match="Redis refused"):
        queue.views.pending()


def test_settings_lost_after_an_outage_take_no_grant_from_who_renews_it(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.enqueue(event("x"))
    (grant,) = queue.transitions.admit((queue.lane,), 1, lease_ms=30_000).grants
    queue.clock.turn(3_600_000)  # the server was away: the clock of leases stood still meanwhile
    assert queue.transitions.renew([grant], lease_ms=30_000) == [Renewal.RENEWED]
    redis_client.delete("exec_queue:settings")
    assert queue.maintenance.reap() == 0
    assert queue.transitions.renew([grant], lease_ms=30_000) == [Renewal.RENEWED]
    queue.let_time_pass(60)
    assert queue.views.meta("x")["state"] == State.PENDING, "nobody renewed it any more"

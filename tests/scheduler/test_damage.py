"""Keys that somebody deleted by hand: what is left of them is cleared away, and nobody else is held back."""

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.errors import QueueUnavailable
from bandmaster.scheduler.grants import Code
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until


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
    admission = queue.transitions.admit(queue.lane, 1)
    assert [grant.execution_id for grant in admission.grants] == ["next"]
    assert not admission.more


def test_a_grant_whose_record_is_gone_does_not_stop_the_reaper(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("lease_ttl_ms", 1)
    for execution_id in ("ghost", "lost"):
        queue.enqueue(event(execution_id))
    queue.transitions.admit(queue.lane, 2, lease_ms=1)
    redis_client.delete("exec_queue:meta:ghost")
    assert queue.release("ghost") is Code.UNKNOWN
    wait_until(lambda: queue.maintenance.reap() and queue.views.meta("lost")["state"] == "PENDING")
    assert redis_client.zcard("exec_queue:lease") == 0


def test_a_key_of_another_type_is_said_by_the_engine_s_own_error(redis_client: redis.Redis) -> None:
    redis_client.set("exec_queue:pending", "not ours")
    queue = ExecutionQueueService(redis_client)
    with pytest.raises(QueueUnavailable, match=r"Redis refused: .*wrong kind of value"):
        queue.enqueue(event("x"))
    with pytest.raises(QueueUnavailable, match="Redis refused"):
        queue.views.pending()

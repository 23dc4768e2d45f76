"""D18: the queue outlives its processes. D19: nothing runs days late. D20: no wake-up is lost for good."""

from datetime import UTC, datetime
from typing import Any

import redis
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.model.priority import Priority
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.heap_coordinator import HeapCoordinator


def test_d18_replicas_share_one_limit_and_a_restart_forgets_nothing(redis_client: redis.Redis) -> None:
    def holds(kind: Any) -> bool:
        running = 0
        replicas = [kind() for _ in range(2)]
        for number, replica in enumerate(replicas):
            if isinstance(replica, HeapCoordinator):
                replica.requested({"id": f"e{number}"}, Priority.NORMAL)
                running += len(replica.active)
            else:
                replica.enqueue(event(f"e{number}"))
                running += replica.try_schedule(1) is not None
        restarted = kind()
        known = (
            len(restarted.heap) + len(restarted.active)
            if isinstance(restarted, HeapCoordinator)
            else sum(restarted.get_queue_status().values())
        )
        return running == 1 and known == 2

    contrast(
        holds,
        simple=lambda: HeapCoordinator(max_concurrent=1),
        ours=lambda: ExecutionQueueService(redis_client),
    )


def test_d19_what_waited_too_long_is_not_started_though_the_queue_was_never_full(redis_client: redis.Redis) -> None:
    ours = TurnedQueue(redis_client)

    def holds(queue: Any) -> bool:
        if isinstance(queue, HeapCoordinator):
            queue.max_concurrent = 0
            queue.requested({"id": "old"}, Priority.NORMAL)
            queue.now += 3 * 86_400
            queue.max_concurrent = 1
            queue.schedule()
            return queue.published == []
        queue.enqueue(event("old"))
        queue.let_time_pass(3_700)
        return queue.try_schedule() is None

    contrast(holds, simple=HeapCoordinator(), ours=ours)
    assert ours.views.meta("old")["state"] == State.EXPIRED
    assert [entry.verb for entry in ours.journal.of("old")] == ["park", "expire"]


def test_d19_the_sweep_ends_what_is_stale_behind_a_closed_gate_and_spares_what_was_paused(
    redis_client: redis.Redis,
) -> None:
    ours = TurnedQueue(redis_client)
    ours.controls.set_limit("user:ann", 0)
    ours.controls.pause("action:paused")
    for execution_id, fields in (("held-back", {"user": "ann"}), ("paused", {"action": "paused"})):
        ours.enqueue(event(execution_id, **fields))
    assert ours.try_schedule() is None
    ours.let_time_pass(3_700)
    assert ours.maintenance.sweep() == 1
    assert ours.views.meta("held-back")["state"] == State.EXPIRED
    assert ours.views.meta("paused")["state"] == State.PENDING


def woken(client: redis.Redis) -> bool:
    """Whether an idle consumer would be told, and that it is told once."""
    return client.lpop("exec_queue:wake:executions") is not None


def test_d20_a_raised_limit_starts_what_waits(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)

    def holds(queue: Any) -> bool:
        if isinstance(queue, HeapCoordinator):
            for number in range(2):
                queue.requested({"id": f"e{number}"}, Priority.NORMAL)
            queue.max_concurrent = 2
            return queue.published == ["e0", "e1"]
        queue.controls.change_setting("max_concurrent_executions", 1)
        for number in range(2):
            queue.enqueue(event(f"e{number}"))
        assert queue.try_schedule() is not None
        while woken(redis_client):
            pass
        queue.controls.change_setting("max_concurrent_executions", 2)
        return woken(redis_client)

    contrast(holds, simple=HeapCoordinator(max_concurrent=1), ours=ours)


def test_d20_whatever_opens_the_way_tells_an_idle_consumer(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)
    controls = ours.controls
    ours.enqueue(event("e0"))
    assert woken(redis_client), "accepted"
    ours.try_schedule()
    controls.set_limit("action:pod", 1)
    ours.enqueue(event("e1"))
    assert ours.try_schedule() is None
    assert not woken(redis_client), "it waits behind a gate that is full: nobody can start it"
    controls.set_limit("action:pod", 2)
    assert woken(redis_client), "the gate's limit was raised"
    for name in ("action:pod", "lane:executions", "*"):
        controls.pause(name)
        assert ours.try_schedule() is None
        while woken(redis_client):
            pass
        controls.resume(name)
        assert woken(redis_client), f"{name} was resumed"
    controls.set_limit("action:pod", 1)
    assert ours.try_schedule() is None
    ours.release("e0")
    assert woken(redis_client), "the one that held the gate ended"
    assert ours.maintenance.wake() == 1
    assert woken(redis_client), "the periodic job repairs a lost token"


def test_d20_no_token_is_pushed_for_a_slot_that_is_taken_in_the_same_call(redis_client: redis.Redis) -> None:
    ours = ExecutionQueueService(redis_client)
    ours.controls.change_setting("max_concurrent_executions", 1)
    for number in range(2):
        ours.enqueue(event(f"e{number}"))
    admitted = ours.transitions.admit(("executions",), 1, consumer=True).grants
    while woken(redis_client):
        pass
    settled = ours.transitions.release(
        "e0", admitted[0].attempt, State.COMPLETED, following=Next(("executions",), 1, 30_000)
    )
    assert [grant.execution_id for grant in settled.grants] == ["e1"]
    assert not woken(redis_client)


def test_d20_a_release_without_a_follower_tells_the_lane_that_waits(redis_client: redis.Redis) -> None:
    pods, mail = ExecutionQueueService(redis_client), ExecutionQueueService(redis_client, lane="mail")
    pods.controls.change_setting("max_concurrent", 1)
    pods.enqueue(event("pod"))
    pods.try_schedule()
    mail.transitions.admit(("mail",), 1, consumer=True)
    mail.enqueue(event("letter"))
    assert redis_client.llen("exec_queue:wake:mail") == 0
    pods.release("pod")
    assert redis_client.llen("exec_queue:wake:mail") == 1
    assert not woken(redis_client)


def test_d20_a_release_goes_on_with_its_own_lane_only_while_no_other_has_a_better_one(
    redis_client: redis.Redis,
) -> None:
    pods, mail = ExecutionQueueService(redis_client), ExecutionQueueService(redis_client, lane="mail")
    mail.transitions.admit(("mail",), 1, consumer=True)
    pods.enqueue(event("pod"))
    pods.try_schedule()
    pods.enqueue(event("first"))
    mail.enqueue(event("second"))
    pods.enqueue(event("third"))
    redis_client.delete("exec_queue:wake:mail")
    settled = pods.transitions.release("pod", 1, State.COMPLETED, following=Next(("executions",), 3, 30_000))
    assert [grant.execution_id for grant in settled.grants] == ["first"]
    assert redis_client.llen("exec_queue:wake:mail") == 1


def test_d20_what_is_due_in_a_moment_wakes_a_consumer_that_would_sleep_longer(redis_client: redis.Redis) -> None:
    ours = TurnedQueue(redis_client)
    due = datetime.fromtimestamp((ours.clock.now_ms + 500) / 1000, UTC)
    ours.enqueue(event("soon", scheduled_at=due))
    assert woken(redis_client)

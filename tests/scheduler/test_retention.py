"""How long Redis keeps what: all of what lives, without a TTL; dead letters for a while, with their records."""

import redis
from defects.contrast import event

from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

KEPT_SECONDS = 3600


def payload_ttl(client: redis.Redis, execution_id: str) -> int:
    return int(client.ttl(f"exec_queue:event:{execution_id}"))  # type: ignore[arg-type]


def bury(queue: ExecutionQueueService, execution_id: str) -> None:
    queue.enqueue(event(execution_id))
    queue.try_schedule()
    queue.transitions.release(execution_id, 1, State.FAILED, dead=True)


def test_a_payload_has_no_ttl_as_long_as_its_execution_lives(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    assert payload_ttl(redis_client, "x") == -1
    queue.try_schedule()
    assert payload_ttl(redis_client, "x") == -1
    queue.retry("x", 1, delay_ms=1)
    assert payload_ttl(redis_client, "x") == -1
    wait_until(lambda: queue.try_schedule() is not None, what="the second attempt")
    queue.transitions.hand_over("x", 2, "a-pod", "uid")
    assert payload_ttl(redis_client, "x") == -1
    queue.release("x", 2)
    assert payload_ttl(redis_client, "x") == -2


def test_a_dead_letter_is_kept_as_long_as_the_setting_says(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("dead_message_ttl_seconds", KEPT_SECONDS)
    bury(queue, "x")
    for key in ("event", "meta"):
        assert KEPT_SECONDS - 60 < int(redis_client.ttl(f"exec_queue:{key}:x")) <= KEPT_SECONDS  # type: ignore[arg-type]
    assert queue.views.dead() == ["x"]


def test_so_many_dead_letters_are_kept_and_the_oldest_go(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    for name in ("a", "b", "c"):
        bury(queue, name)
    queue.controls.change_setting("max_dead_messages", 2)
    bury(queue, "d")
    assert set(queue.views.dead()) == {"c", "d"}
    assert payload_ttl(redis_client, "a") == -2
    assert queue.views.meta("a")["state"] == State.FAILED, "a late duplicate is recognised"
    (dropped, _) = [entry for entry in queue.journal.entries() if entry.verb == "drop"]
    assert (dropped.execution_id, dropped.fields["reason"]) == ("a", "max_dead_messages")


def test_the_list_of_dead_letters_forgets_those_that_are_gone(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("dead_message_ttl_seconds", 1)
    bury(queue, "first")
    wait_until(lambda: not queue.views.meta("first"), what="its end")
    bury(queue, "second")
    assert queue.views.dead() == ["second"]


def test_a_dead_letter_whose_time_is_over_costs_no_living_execution_of_its_id(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    for name in ("x", "y"):
        bury(queue, name)
        redis_client.delete(f"exec_queue:meta:{name}", f"exec_queue:event:{name}")
        queue.enqueue(event(name))
        assert queue.try_schedule() is not None
    assert not queue.drop("x")
    queue.controls.change_setting("max_dead_messages", 1)
    bury(queue, "z")
    assert queue.views.dead() == ["z"]
    for name in ("x", "y"):
        assert queue.views.meta(name)["state"] == State.RUNNING
        assert payload_ttl(redis_client, name) == -1

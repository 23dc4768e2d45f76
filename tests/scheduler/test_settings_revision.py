"""The settings are read anew when they have changed, and else not: they grow with the lanes, a call does not."""

from typing import Any

import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.queue import ExecutionQueueService

MANY = 200


def whole_reads(client: Any, calls: int, queue: ExecutionQueueService) -> int:
    client.config_resetstat()
    for _ in range(calls):
        queue.try_schedule(0)
    return int(client.info("commandstats").get("cmdstat_hgetall", {"calls": 0})["calls"])


def test_the_bounds_of_many_lanes_are_not_read_by_every_call(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    for number in range(MANY):
        queue.controls.change_setting("max_queue_size", 5, lane=f"lane{number}")
    queue.try_schedule(0)
    assert whole_reads(redis_client, 50, queue) <= 1
    queue.controls.change_setting("max_queue_size", 6, lane="lane7")
    assert whole_reads(redis_client, 50, queue) <= 2, "the next call reads what was changed, and the others do not"


def test_a_changed_setting_holds_at_the_next_call(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    other = ExecutionQueueService(redis_client, prefix="other")
    for name in ("a", "b", "c"):
        queue.enqueue(event(name))
        other.enqueue(event(name))
    for admitted, most in enumerate((1, 2, 3), start=1):
        queue.controls.change_setting("max_concurrent_executions", most)
        assert [bool(queue.try_schedule()) for _ in range(2)] == [True, False]
        assert queue.get_queue_status()["active_count"] == admitted
        assert other.try_schedule(), "another queue on the same server has settings of its own"


def test_what_was_written_by_hand_holds_within_a_second(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    for name in ("a", "b"):
        queue.enqueue(event(name))
    assert queue.try_schedule(), "a call before, which read the settings"
    redis_client.hset("exec_queue:settings", "max_concurrent_executions", 1)
    queue.clock.turn(1_000)
    queue.enqueue(event("c"))  # a call that notes the time
    assert queue.try_schedule() is None


def test_data_from_before_is_read_as_it_was(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 1)
    for name in ("a", "b"):
        queue.enqueue(event(name))
    before = redis_client.dump("exec_queue:settings")
    queue.controls.change_setting("max_concurrent_executions", 5)
    assert queue.try_schedule()
    queue.clock.turn(1)  # no restoring is over within a millisecond
    redis_client.restore("exec_queue:settings", 0, before, replace=True)  # type: ignore[arg-type]
    assert queue.try_schedule() is None
    queue.controls.change_setting("max_concurrent_executions", 5)
    assert queue.try_schedule(), "the same change once more is another revision"


def test_settings_that_were_lost_leave_the_defaults(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 0)
    queue.enqueue(event("a"))
    assert queue.try_schedule() is None
    redis_client.delete("exec_queue:settings")
    assert queue.try_schedule()

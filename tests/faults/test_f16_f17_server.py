"""F16: the server forgets the library. F17: it has no memory left: nothing is accepted, and what there is drains."""

import os
from collections.abc import Iterator

import pytest
import redis
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, HandOver, Renewal
from bandmaster.scheduler.engine.transitions import Next
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.process.leadership import Leadership
from bandmaster.scheduler.queue import ExecutionQueueService
from faults.acts import ACTS, ARRANGEMENTS, prepare


@pytest.mark.parametrize("name", ACTS)
def test_f16_a_library_that_the_server_forgot_is_loaded_again(name: str, redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    prepare(queue)
    ARRANGEMENTS.get(name, lambda _: None)(queue)
    redis_client.function_flush()
    ACTS[name](queue)
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


@pytest.fixture
def full(redis_client: redis.Redis) -> Iterator[ExecutionQueueService]:
    """Granted: held. Waiting: a, b, c. Then the server's memory was used up."""
    if os.environ.get("BANDMASTER_TEST_REDIS_URL"):
        pytest.skip("changes the server's memory limit, which others may use")
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 2)
    for execution_id in ("held", "a", "b", "c"):
        queue.enqueue(event(execution_id))
    assert queue.try_schedule() is not None
    redis_client.config_set("maxmemory-policy", "noeviction")
    redis_client.config_set("maxmemory", 1)
    try:
        yield queue
    finally:
        redis_client.config_set("maxmemory", 0)


@pytest.mark.parametrize("forgotten", [False, True])
def test_f17_nothing_is_accepted_and_no_part_of_it_is_kept(
    forgotten: bool, full: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    if forgotten:
        redis_client.function_flush()
    before = read_dump(redis_client, full.scripts.keys).contents()
    with pytest.raises(QueueUnavailable, match="memory"):
        full.enqueue(event("one-more"))
    with pytest.raises(QueueUnavailable, match="memory"):
        full.enqueue_many([event("two-more"), event("three-more")])
    assert read_dump(redis_client, full.scripts.keys).contents() == before
    redis_client.config_set("maxmemory", 0)
    assert full.enqueue(event("one-more")) == 3


@pytest.mark.parametrize("forgotten", [False, True])
def test_f17_leases_are_renewed_and_the_queue_drains(
    forgotten: bool, full: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    transitions = full.transitions
    if forgotten:
        redis_client.function_flush()  # and it cannot be loaded again
    assert transitions.renew([("held", 1, "")]) == [Renewal.RENEWED]
    assert full.update_priority("c", "HIGH")
    grants = transitions.admit((full.lane,), 1, lease_ms=30_000, consumer=True).grants
    assert [grant.execution_id for grant in grants] == ["c"]
    assert transitions.hand_over("c", 1, "a-pod", "uid") == HandOver(Code.OK, State.POD, is_wanted=True)
    assert transitions.cancel("c").state is State.CANCELLING
    assert Leadership(full.scripts).elect()
    assert full.maintenance.reap() == 0
    full.controls.set_limit("gpu", 1)
    settled = transitions.release("held", 1, State.COMPLETED, following=Next((full.lane,), 1, 30_000))
    assert [grant.execution_id for grant in settled.grants] == ["a"]
    assert full.retry("a", 1) is Code.OK
    assert full.remove("b")
    assert full.release("c", 1) is Code.OK
    assert full.try_schedule() is not None
    assert full.release("a", 2) is Code.OK
    assert full.release("a", 2) is Code.ENDED
    assert full.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    Invariants().check(read_dump(redis_client, full.scripts.keys))

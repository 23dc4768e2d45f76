"""Limits by kind: `tenant:*` holds for each gate `tenant:…` without a limit of its own.

A gate goes before its kind, an operator before a declaration. A lowered limit binds the next grant; a raised one makes
closed gates candidates, best waiter first, in calls that are bounded whatever waits.
"""

from typing import Any

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.model.errors import InvalidRequest
from bandmaster.scheduler.queue import ExecutionQueueService

LANE = "executions"
TENANTS = 1_000


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """With room for everything."""
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent_executions", 100_000)
    return queue


def park(queue: ExecutionQueueService, *names: str) -> None:
    """Executions named by their tenant and a number: `a-1` passes the gate `tenant:a`."""
    outcomes = queue.enqueue_many([event(name, gates=[f"tenant:{name.partition('-')[0]}"]) for name in names])
    assert all(not isinstance(outcome, Exception) for outcome in outcomes)


def start(queue: ExecutionQueueService, most: int = 100) -> list[str]:
    """What starts now, in order."""
    started: list[str] = []
    while len(started) < most:
        admission = queue.transitions.admit((LANE,), min(50, most - len(started)), lease_ms=600_000)
        started += [grant.execution_id for grant in admission.grants]
        if not admission.grants and not admission.more:
            break
    return started


def test_a_kinds_limit_holds_for_each_of_its_gates_by_itself(queue: ExecutionQueueService) -> None:
    assert queue.controls.set_limit("tenant:*", 1) == 0
    park(queue, "a-1", "a-2", "b-1", "b-2", "c-1")
    queue.enqueue(event("gated-by-nothing"))
    assert start(queue) == ["a-1", "b-1", "c-1", "gated-by-nothing"]
    queue.release("b-1")
    assert start(queue) == ["b-2"]
    assert queue.explain("a-2").reasons[0] == "gate tenant:a is full: 1 of 1 held"
    assert queue.controls.limits() == {"tenant:*": 1}


def test_a_gates_own_limit_goes_before_its_kinds_and_an_operators_before_a_declared_one(
    queue: ExecutionQueueService,
) -> None:
    controls = queue.controls
    controls.declare_limits({LANE: {"tenant:*": 1, "tenant:c": 3}})
    controls.set_limit("tenant:b", 2)
    names = [f"{tenant}-{number}" for number in range(5) for tenant in "abc"]
    park(queue, *names)
    assert start(queue) == ["a-0", "b-0", "c-0", "b-1", "c-1", "c-2"]
    controls.set_limit("tenant:*", 2)
    assert start(queue) == ["a-1"]
    controls.set_limit("tenant:c", 4)
    assert start(queue) == ["c-3"]
    controls.set_limit("tenant:b", None)  # its kind's holds again, which is the same
    assert start(queue) == []
    controls.set_limit("tenant:b", 4)
    assert start(queue) == ["b-2", "b-3"]


@pytest.mark.parametrize(("kind", "given"), [("user:*", {"user": "ann"}), ("action:*", {"action": "pod"})])
def test_users_and_actions_are_kinds_too(queue: ExecutionQueueService, kind: str, given: dict[str, Any]) -> None:
    queue.controls.set_limit(kind, 1)
    for name in ("one", "two"):
        queue.enqueue(event(name, **given))
    assert start(queue) == ["one"]
    if kind == "action:*":
        assert queue.action_statistics("pod").max_concurrent == 1


def test_a_lowered_limit_binds_the_next_grant_and_stops_nothing_that_runs(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("tenant:*", 3)
    park(queue, *(f"a-{number}" for number in range(8)))
    assert start(queue) == ["a-0", "a-1", "a-2"]
    queue.controls.set_limit("tenant:*", 1)
    for name in ("a-0", "a-1"):
        queue.release(name)
        assert start(queue) == []
    queue.release("a-2")
    assert start(queue) == ["a-3"]


def test_what_a_lane_declares_is_replaced_by_what_it_declares_next(queue: ExecutionQueueService) -> None:
    controls = queue.controls
    controls.declare_limits({LANE: {"tenant:*": 1}, "emails": {"tenant:*": 2, "gpu": 1}})
    assert controls.all_limits().declared == {LANE: {"tenant:*": 1}, "emails": {"tenant:*": 2, "gpu": 1}}
    park(queue, *(f"a-{number}" for number in range(5)))
    queue.enqueue_many([event(f"gpu-{number}", gates=["gpu"]) for number in range(3)])
    assert start(queue) == ["a-0", "gpu-0"]  # the lowest of what the lanes declare
    controls.declare_limits({LANE: {}})
    assert start(queue) == ["a-1"]
    controls.declare_limits({LANE: {"tenant:*": 3}})
    assert start(queue) == []
    controls.declare_limits({"emails": {}, "another": {}})
    assert start(queue) == ["a-2", "gpu-1", "gpu-2"]
    controls.declare_limits({LANE: {}})
    assert start(queue) == ["a-3", "a-4"]
    assert controls.all_limits().names() == set()


def closed_tenants(queue: ExecutionQueueService) -> list[str]:
    """Of each tenant one runs and two wait, behind its gate; those that run, in order."""
    queue.controls.change_setting("max_executions_per_user", 10 * TENANTS)
    queue.controls.set_limit("tenant:*", 1)
    for number in range(3):
        park(queue, *(f"{tenant:04}-{number}" for tenant in range(TENANTS)))
    held = start(queue, TENANTS)
    assert held == [f"{tenant:04}-0" for tenant in range(TENANTS)]
    assert start(queue, 1) == []
    return held


def commands(client: redis.Redis) -> int:
    """How many commands the server has run so far, those of scripts too."""
    stats: Any = client.info("commandstats")
    return sum(each["calls"] for each in stats.values())


def test_a_raised_limit_opens_a_thousand_gates_in_bounded_calls_best_waiter_first(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    closed_tenants(queue)
    before = commands(redis_client)
    queue.controls.set_limit("tenant:*", 2)
    assert commands(redis_client) - before < 400, "no call looks at all the gates"
    queue.update_priority("0777-2", "CRITICAL")
    started: list[str] = []
    while len(started) < TENANTS:
        before = commands(redis_client)
        (grant,) = queue.transitions.admit((LANE,), 1, lease_ms=600_000).grants
        assert commands(redis_client) - before < 400
        started.append(grant.execution_id)
    expected = [f"{tenant:04}-1" for tenant in range(TENANTS)]
    expected.remove("0777-1")
    assert started == ["0777-2", *expected]
    assert start(queue, 1) == []
    assert not redis_client.hexists("exec_queue:settings", "raised")


def test_whoever_calls_carries_on_with_what_rose(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    closed_tenants(queue)
    redis_client.delete("exec_queue:wake:executions")
    queue.controls.set_limit("tenant:*", 2)
    assert redis_client.llen("exec_queue:wake:executions") > 0, "who sleeps on the lane is woken"
    other = ExecutionQueueService(redis_client, lane="emails")
    for number in range(TENANTS // 20):
        other.enqueue(event(f"mail-{number}"))
    other.enqueue(event("mail"))
    assert not redis_client.hexists("exec_queue:settings", "raised")
    assert redis_client.zcard("exec_queue:open:executions") == TENANTS


def test_an_end_opens_its_gate_at_once_while_others_wait_to_be_looked_at(queue: ExecutionQueueService) -> None:
    held = closed_tenants(queue)
    queue.controls.set_limit("tenant:*", 3)
    queue.controls.pause("lane:executions")
    queue.release(held[-1])
    gate = f"tenant:{held[-1][:4]}"
    keys = queue.scripts.keys
    assert queue.scripts.client.zscore(keys.open(LANE), gate) is not None
    queue.controls.resume("lane:executions")
    assert start(queue, 1) == ["0000-1"], "the best waiter comes first all the same"


def test_how_far_gates_were_looked_at_may_be_lost_with_the_settings(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    closed_tenants(queue)
    queue.controls.set_limit("tenant:*", 2)
    redis_client.delete("exec_queue:settings")
    queue.controls.change_setting("max_concurrent_executions", 100_000)
    assert start(queue, 3 * TENANTS) == [f"{tenant:04}-1" for tenant in range(TENANTS)]


def test_nothing_is_left_behind_when_all_has_ended(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    queue.controls.set_limit("tenant:*", 1)
    park(queue, "a-1", "a-2", "b-1", "b-2")
    while names := start(queue):
        for name in names:
            queue.release(name)
    queue.controls.set_limit("tenant:*", None)
    assert not [key for key in redis_client.keys("*") if b":gate:" in key or b"limits" in key]  # type: ignore[union-attr]
    assert redis_client.hkeys("exec_queue:settings") == [
        b"max_concurrent_executions",
        b"revision",
        b"format",
        b"lease_clock",
    ]


def test_a_queue_without_limits_by_kind_asks_nothing_more_for_them(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)  # a call that notes the clock of leases, once a second, costs one more

    def cost() -> int:
        before = commands(redis_client)
        park(queue, "a-1")
        assert start(queue, 1) == ["a-1"]
        queue.transitions.remove("a-1")
        redis_client.delete("exec_queue:meta:a-1")
        return commands(redis_client) - before

    for _ in range(2):  # until all is noted that a call notes once
        cost()
    without = cost()
    queue.controls.set_limit("user:*", 5)
    cost()
    assert cost() == without


NO_PATTERNS = (
    ("*", "'\\*' is no gate"),
    (":*", "is no kind of gates"),
    ("a:b:*", "is no kind of gates"),
    ("lane:*", "a lane can only be paused"),
    ("tenant*", "is not a gate's key; allowed: no \\*, { or }"),
    ("tenant:a*", "is not a gate's key; allowed: no \\*, { or }"),
    ("*:*", "is not a gate's key"),
    ("tenant:{tenant}", "is not a gate's key"),
    ("user:a*", "user_id: 'a\\*' is not a user's id; allowed: no \\*, { or }"),
    ("action:p*", "is not an action"),
)


def test_what_looks_like_a_pattern_and_is_none_is_refused(
    queue: ExecutionQueueService, redis_client: redis.Redis, subtests: pytest.Subtests
) -> None:
    for name, problem in NO_PATTERNS:
        with subtests.test(name=name, problem=problem):
            with pytest.raises(InvalidRequest, match=problem):
                queue.controls.set_limit(name, 1)
            with pytest.raises(InvalidRequest, match=problem):
                queue.controls.declare_limits({LANE: {name: 1}})
            assert redis_client.keys("exec_queue:limits*") == []


def test_a_kind_can_be_limited_and_not_be_paused_or_passed(queue: ExecutionQueueService) -> None:
    with pytest.raises(InvalidRequest, match="only a limit or a rate may be of a kind"):
        queue.controls.pause("tenant:*")
    with pytest.raises(InvalidRequest, match="only a limit or a rate may be of a kind"):
        queue.enqueue(event("x", gates=["tenant:*"]))


def test_what_is_no_limit_or_no_lane_is_not_declared(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    bad: list[dict[str, dict[str, Any]]] = [{LANE: {"tenant:*": 1, "gpu": -1}}, {"a lane": {}}, {LANE: {"gpu": "1"}}]
    for declared in bad:
        with pytest.raises(InvalidRequest):
            queue.controls.declare_limits(declared)
    assert redis_client.keys("exec_queue:limits*") == []


def test_the_overview_lists_kinds_and_the_gates_that_they_keep_closed(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("tenant:*", 1)
    queue.controls.declare_limits({LANE: {"gpu": 4}})
    park(queue, "a-1", "b-1", "b-2", "c-1", "c-2", "c-3")
    start(queue)
    loads = [
        (each.gate, each.held, each.limit, each.waiting, each.limited_by, each.declared) for each in queue.gates.all()
    ]
    assert loads == [
        ("tenant:*", None, 1, 3, "tenant:*", False),
        ("tenant:c", 1, 1, 2, "tenant:*", False),
        ("tenant:b", 1, 1, 1, "tenant:*", False),
        ("gpu", 0, 4, 0, "gpu", True),
    ]
    (load,) = queue.gates.limited(["tenant:a"])
    assert (load.held, load.limit, load.limited_by) == (1, 1, "tenant:*")
    assert [each.gate for each in queue.gates.limited()] == ["gpu", "tenant:*"]

"""Flows: executions that pass the same gates wait as one, so a closed gate moves them in one step, whatever waits."""

import random

import pytest
import redis
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants

from bandmaster.scheduler.queue import ExecutionQueueService

LANE = "executions"
MANY = 300
"""More than one call moves."""


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """Without bounds."""
    queue = ExecutionQueueService(redis_client)
    for name in ("max_concurrent_executions", "max_executions_per_user"):
        queue.controls.change_setting(name, 100_000)
    return queue


def park(queue: ExecutionQueueService, names: list[str], *gates: str) -> None:
    outcomes = queue.enqueue_many([event(name, gates=list(gates)) for name in names])
    assert all(not isinstance(outcome, Exception) for outcome in outcomes)


def start_all(queue: ExecutionQueueService, most: int = 100_000) -> tuple[list[str], int]:
    """What starts, in order; and how many calls it took."""
    started: list[str] = []
    for calls in range(1, 10_000):
        admission = queue.transitions.admit((LANE,), min(50, most - len(started)), lease_ms=600_000)
        started += [grant.execution_id for grant in admission.grants]
        if len(started) == most or not (admission.grants or admission.more):
            return started, calls
    raise AssertionError("it does not end")


def check(queue: ExecutionQueueService, client: redis.Redis) -> None:
    Invariants().check(read_dump(client, queue.scripts.keys))


def test_a_closed_gate_moves_what_waits_in_one_step(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    queue.controls.set_limit("gpu", 0)
    park(queue, [f"closed-{number}" for number in range(MANY)], "gpu")
    park(queue, ["free"])
    assert start_all(queue, 1) == (["free"], 1)
    behind = redis_client.zcard(queue.scripts.keys.waiting("gpu", LANE))
    assert behind == 1, "the flow, and not each of its executions"
    assert {load.gate: load.waiting for load in queue.gates.all()} == {"gpu": MANY}
    check(queue, redis_client)


def test_what_ends_opens_no_more_than_flows(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    """Commands are counted, since they do not depend on the machine."""
    draw, users, actions = random.Random(3), [f"tenant:{n}" for n in range(4)], [f"host:{n}" for n in range(4)]
    for gate in (*users, *actions):
        queue.controls.set_limit(gate, 2)

    def cost_of_ends(prefix: str, more: int) -> float:
        for number in range(more):
            park(queue, [f"{prefix}-{number}"], draw.choice(users), draw.choice(actions))
        running, _ = start_all(queue)
        before = commands(redis_client)
        for name in [*running, *queue.ids.active()][:8]:
            queue.release(name)
            start_all(queue, 1)
        return commands(redis_client) - before

    few = cost_of_ends("few", 100)
    many = cost_of_ends("many", 1_000)
    assert many < few * 2, "eleven times as many wait"
    check(queue, redis_client)


def commands(client: redis.Redis) -> int:
    statistics: dict[str, dict[str, int]] = client.info("commandstats")  # type: ignore[assignment]
    return sum(each["calls"] for each in statistics.values())


def test_the_order_is_exact_when_very_many_flows_have_lost_their_first(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    """Ready flows stand lower than they should then, and one call cannot look at all of them."""
    flows = range(MANY)
    for number in flows:
        park(queue, [f"first-{number}"], f"tenant:{number}")
    for number in reversed(flows):
        park(queue, [f"second-{number}"], f"tenant:{number}")
    queue.controls.change_setting("max_concurrent_executions", 0)
    for number in flows:
        queue.cancel(f"first-{number}")
    queue.controls.change_setting("max_concurrent_executions", 100_000)
    started, calls = start_all(queue)
    assert started == [f"second-{number}" for number in reversed(flows)]
    assert calls > MANY / 50 + 1, "some call was spent before the best one was found"
    check(queue, redis_client)
    for name in started:
        queue.release(name)
    check(queue, redis_client)


def test_a_flow_whose_executions_were_deleted_by_hand_is_dropped(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    keys = queue.scripts.keys
    queue.controls.set_limit("gpu", 1)
    park(queue, ["holder", "gone"], "gpu")
    assert start_all(queue)[0] == ["holder"]
    park(queue, ["gone-too"])
    for flow in ("action:pod\ngpu", "action:pod"):
        assert redis_client.delete(keys.flow(LANE, flow)) == 1
    park(queue, ["next"], "disk")
    queue.release("holder")
    assert start_all(queue)[0] == ["next"]
    assert redis_client.exists(keys.ready(LANE), keys.open(LANE), keys.named("behind")) == 0


def test_an_executions_place_counts_what_no_gate_holds_back(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("gpu", 0)
    park(queue, ["closed-1", "closed-2"], "gpu")
    park(queue, ["a", "b"], "disk")
    park(queue, ["c"])
    assert start_all(queue, 1)[0] == ["a"]
    found = queue.explain("c")
    assert (found.position, found.reasons) == (
        3,
        ["1 of its lane are before it", "no worker has asked for lane executions yet"],
    )


def test_a_better_one_of_a_closed_flow_goes_first_once_its_gate_opens(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("gpu", 0)
    park(queue, ["first", "second"], "gpu")
    park(queue, ["other"], "disk")
    assert start_all(queue)[0] == ["other"]
    queue.enqueue(event("urgent", priority="CRITICAL", gates=["gpu"]))
    queue.update_priority("second", "HIGH")
    queue.controls.set_limit("gpu", 3)
    assert start_all(queue)[0] == ["urgent", "second", "first"]

"""What is told of gates: rates beside limits, when a rate opens the next one, weights, and lanes that are fair."""

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.rate_controls import RateInForce
from bandmaster.scheduler.gate_loads import ASKED_AGAIN_MS, GateLoad
from bandmaster.scheduler.lanes import all_lanes
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.queue import ExecutionQueueService

LANE = "executions"
HOURLY = Rate.read("1/h")
HOUR_MS = 3_600_000


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


def start(queue: ExecutionQueueService, *names: str, gate: str) -> None:
    for name in names:
        queue.enqueue(event(name, gates=[gate]))
    assert queue.transitions.admit((LANE,), 50).grants


def loads(queue: ExecutionQueueService) -> dict[str, GateLoad]:
    return {each.gate: each for each in queue.gates.all()}


def test_a_gate_that_its_rate_keeps_closed_says_when_it_opens(queue: ExecutionQueueService) -> None:
    queue.controls.rates.set("tenant:a", HOURLY)
    load = loads(queue)["tenant:a"]
    assert (load.rate, load.limit, load.opens_in_ms) == (RateInForce("tenant:a", HOURLY, is_declared=False), None, None)
    start(queue, "a", "b", "c", gate="tenant:a")
    load = loads(queue)["tenant:a"]
    assert (load.held, load.waiting) == (1, 2)
    assert load.opens_in_ms is not None
    assert HOUR_MS - 60_000 < load.opens_in_ms <= HOUR_MS
    queue.controls.rates.set("tenant:a", None)
    assert "tenant:a" not in loads(queue)


def test_a_kinds_rate_lists_the_kind_and_what_it_keeps_closed(queue: ExecutionQueueService) -> None:
    queue.controls.rates.declare({LANE: {"tenant:*": HOURLY}})
    start(queue, "a", "b", "c", gate="tenant:a")
    found = loads(queue)
    assert found.keys() == {"tenant:*", "tenant:a"}
    assert found["tenant:a"].rate == RateInForce("tenant:*", HOURLY, is_declared=True)
    assert (found["tenant:*"].held, found["tenant:*"].waiting, found["tenant:*"].opens_in_ms) == (None, 2, None)


def test_a_rate_that_would_let_the_next_one_through_for_long_keeps_nothing_back(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    queue.controls.rates.set("action:mail", HOURLY)
    for name in ("a", "b"):
        queue.enqueue(event(name, action="mail"))
    assert queue.transitions.admit((LANE,), 50).grants
    held = queue.gates.held_by_rate("action:mail")
    assert held is not None
    assert (str(held.rate), held.name) == ("1/h", "action:mail")
    now_ms = queue.views.server_time_ms()
    redis_client.zadd(f"exec_queue:later:{LANE}", {"action:mail": now_ms - ASKED_AGAIN_MS // 2})
    assert loads(queue)["action:mail"].opens_in_ms == 0
    redis_client.zadd(f"exec_queue:later:{LANE}", {"action:mail": now_ms - 60 * ASKED_AGAIN_MS})
    assert loads(queue)["action:mail"].opens_in_ms is None
    assert queue.gates.held_by_rate("action:mail") is None
    assert queue.gates.held_by_rate("action:other") is None


def test_weights_and_fair_lanes_are_told(queue: ExecutionQueueService) -> None:
    queue.shares.weigh("user:ann", 10)
    queue.shares.share(LANE, "user")
    queue.shares.share("letters", "tenant")
    queue.on("letters").enqueue(event("a", user="bob"))
    assert [(each.gate, each.weight, each.limit) for each in queue.gates.all()] == [("user:ann", 10, None)]
    assert {load.lane: load.fair_by for load, _ in all_lanes(queue)} == {LANE: "user", "letters": "tenant"}

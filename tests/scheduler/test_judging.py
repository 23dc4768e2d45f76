"""What is said of actions: of each that was asked for, in order; and asked for are those that their own limit holds."""

from dataclasses import replace

import pytest
import redis

from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.gate_loads import GateLoad
from bandmaster.scheduler.judging import ACTIONS_JUDGED, foremost_actions, judged_actions
from bandmaster.scheduler.model.rates import Rate
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.verdicts import VerdictCode


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


def test_each_action_is_judged_by_its_own_figures(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    for action in ("resize", "render", "quiet"):
        for number in range(2):
            queue.transitions.park(Candidate(f"{action}-{number}", "executions", 2, action, message=b"x"))
        queue.controls.set_limit(f"action:{action}", 0)
    since_ms = queue.views.server_time_ms() - 4 * 60_000
    redis_client.zadd("exec_queue:action:resize:pending", {"resize-0": since_ms})
    redis_client.zadd("exec_queue:action:render:pending", {"render-0": since_ms - 60 * 60_000})
    found = judged_actions(queue, ["render", "quiet", "resize", "never-used"])
    assert [(each.subject, each.code) for each in found] == [
        ("action:render", VerdictCode.OLDEST_WAIT_LONG),
        ("action:render", VerdictCode.LIMIT_REACHED),
        ("action:resize", VerdictCode.LIMIT_REACHED),
    ]
    assert "limit 0 reached, 2 executions wait" in found[-1].sentence
    assert judged_actions(queue, []) == []


def test_a_rate_that_holds_an_action_back_is_told_of(queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
    queue.controls.rates.set("action:*", Rate.read("1/h"))
    for number in range(3):
        queue.transitions.park(Candidate(f"mail-{number}", "executions", 2, "mail", message=b"x"))
    assert len(queue.transitions.admit(("executions",), 3).grants) == 1
    since_ms = queue.views.server_time_ms() - 4 * 60_000
    redis_client.zadd("exec_queue:action:mail:pending", {"mail-1": since_ms})
    assert foremost_actions(queue.gates.all()) == ["mail"]
    (verdict,) = judged_actions(queue, ["mail"])
    assert verdict.sentence == "Action mail has waited for 4 min: rate 1/h reached, 2 executions wait"
    queue.controls.rates.set("action:*", None)
    assert judged_actions(queue, ["mail"]) == []


def test_those_are_judged_that_their_own_limit_holds_back_most() -> None:
    def load(gate: str, waiting: int) -> GateLoad:
        return GateLoad(gate, 0, 1, waiting, paused=False)

    others = [load("action:*", 99), load("tenant:a", 98), load("user:ann", 97)]
    held_back = [load(f"action:{number}", 50 - number) for number in range(ACTIONS_JUDGED + 1)]
    free = [load("action:free", 0)]
    assert foremost_actions([*others, *held_back, *free]) == [str(number) for number in range(ACTIONS_JUDGED)]
    assert foremost_actions([*held_back[:2], *free]) == ["0", "1"]
    assert foremost_actions([replace(held_back[0], limit=None)]) == [], "a pause alone is no limit"

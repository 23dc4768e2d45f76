"""The threads that a lane could keep busy: what could start, within all bounds, and what works already."""

import pytest
import redis

from bandmaster.scheduler.demand import Demand, LaneDemand
from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService

LANE = "executions"


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    return ExecutionQueueService(redis_client)


def send(queue: ExecutionQueueService, *names: str, action: str = "resize") -> None:
    for name in names:
        queue.enqueue(ExecutionRequestedEvent(execution_id=name, action=action, command=("true",)))


def demand(queue: ExecutionQueueService, lane: str = LANE) -> tuple[int, int]:
    found = Demand(queue.scripts, queue.controls, queue.views).of(lane)
    assert found.threads == found.admissible + found.running
    return found.admissible, found.running


def test_what_waits_and_what_runs_are_added(queue: ExecutionQueueService) -> None:
    assert demand(queue) == (0, 0)
    send(queue, "a", "b", "c")
    assert demand(queue) == (3, 0)
    assert demand(queue, "another") == (0, 0)
    queue.try_schedule()
    assert demand(queue) == (2, 1)
    while granted := queue.try_schedule():
        pass
    assert granted is None
    assert demand(queue) == (0, 3), "a lane that is being emptied keeps its workers"


def test_what_finds_its_gate_closed_asks_for_no_thread(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("action:resize", 2)
    send(queue, *(f"resize-{number}" for number in range(9)))
    send(queue, "mail", action="mail")
    for _ in range(3):
        queue.try_schedule()
    assert queue.try_schedule() is None
    assert demand(queue) == (0, 3)
    queue.release("resize-0")
    assert demand(queue) == (1, 2), "the gate has room for one of the seven behind it"
    queue.controls.set_limit("action:resize", 4)
    assert demand(queue) == (3, 2)


@pytest.mark.parametrize("setting", ["max_concurrent_executions", "max_concurrent"])
def test_no_more_than_the_bounds_allow(queue: ExecutionQueueService, setting: str) -> None:
    send(queue, *"abcdef")
    queue.try_schedule()
    queue.controls.change_setting(setting, 4)
    assert demand(queue) == (3, 1)
    queue.controls.change_setting(setting, 0 if setting == "max_concurrent" else 1)
    assert demand(queue) == (0, 1)


@pytest.mark.parametrize("name", ["*", "lane:executions", "action:resize"])
def test_what_is_paused_asks_for_none_and_what_runs_goes_on(queue: ExecutionQueueService, name: str) -> None:
    send(queue, *"abc")
    queue.try_schedule()
    queue.controls.pause(name)
    queue.try_schedule()
    assert demand(queue) == (0, 1)
    queue.controls.resume(name)
    assert demand(queue) == (2, 1)


def test_one_that_a_pod_runs_takes_no_thread(queue: ExecutionQueueService) -> None:
    send(queue, "a", "b")
    (first, second) = queue.transitions.admit((LANE,), 2).grants
    assert queue.transitions.hand_over(first.execution_id, first.attempt, "pod-a", "uid-a")
    assert demand(queue) == (0, 1)
    queue.release(second.execution_id)
    assert Demand(queue.scripts, queue.controls, queue.views).of(LANE) == LaneDemand(LANE, 0, 0)

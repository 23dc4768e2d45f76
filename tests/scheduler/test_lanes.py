"""Bounds are a lane's own: the defaults are lane `executions`'s; another lane has none until it is given some."""

from typing import Any

import pytest
import redis
from defects.contrast import event
from model.dump import read_dump
from model.invariants import Invariants
from turned_queue import TurnedQueue

from bandmaster.scheduler.model.errors import InvalidRequest, QueueFull, UserLimitExceeded
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

MANY = 150
DEFAULT_LIMIT = 10


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """On lane `executions`."""
    return ExecutionQueueService(redis_client)


@pytest.fixture
def mail(queue: ExecutionQueueService) -> ExecutionQueueService:
    """On an application's lane."""
    return queue.on("mail")


def fill(queue: ExecutionQueueService, count: int, user: str | None = None) -> None:
    """Let so many wait."""
    names = [f"{queue.lane}-{number}" for number in range(count)]
    outcomes = queue.enqueue_many([event(name, user=user) for name in names])
    assert not [each for each in outcomes if isinstance(each, Exception)]


def start(queue: ExecutionQueueService, count: int) -> int:
    """Take so many, if there are slots; how many there were."""
    return len(queue.transitions.admit((queue.lane,), count, lease_ms=60_000).grants)


def test_a_lane_that_asks_for_no_bound_has_none(mail: ExecutionQueueService) -> None:
    fill(mail, MANY, user="ann")
    assert start(mail, 100) + start(mail, 100) == MANY
    assert {name for name, value in mail.views.status().settings.items() if value is None} == {
        *("max_concurrent", "max_concurrent_executions", "max_queue_size", "max_executions_per_user"),
        *("stale_timeout_seconds", "ageing_seconds"),
    }


def test_the_default_lanes_keys_and_numbers_hold_whatever_else_runs(
    queue: ExecutionQueueService, mail: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    fill(mail, MANY)
    assert start(mail, 50) == 50
    assert queue.enqueue(event("first")) == 0, "positions count what waits here"
    fill(queue, 20)
    taken: list[str] = []
    while redis_client.scard("exec_queue:active") < DEFAULT_LIMIT:  # type: ignore[operator]  # what tools read from outside
        started = queue.try_schedule()
        assert started is not None
        taken.append(started[0])
    assert taken[:2] == ["first", "executions-0"]
    assert queue.try_schedule() is None
    assert queue.try_schedule(max_active=12) is not None
    assert redis_client.zcard("exec_queue:pending") == 10
    assert queue.get_queue_status() == {"queue_depth": 10, "active_count": 11}
    assert queue.get_pending_by_priority()["NORMAL"] == 10
    assert mail.get_queue_status() == {"queue_depth": MANY - 50, "active_count": 50}
    assert redis_client.zcard("exec_queue:lane:mail:pending") == MANY - 50
    assert redis_client.scard("exec_queue:lane:mail:active") == 50


def test_each_lane_is_full_for_itself(queue: ExecutionQueueService, mail: ExecutionQueueService) -> None:
    mail.controls.change_setting("max_queue_size", 2)
    mail.controls.change_setting("max_executions_per_user", 1)
    fill(queue, 5, user="ann")
    fill(mail, 1, user="ann")
    with pytest.raises(UserLimitExceeded, match="has 1 executions waiting"):
        mail.enqueue(event("hers", user="ann"))
    assert start(mail, 1) == 1
    mail.enqueue(event("hers", user="ann"))
    mail.enqueue(event("later", scheduled_at="2099-01-01T00:00:00Z"))
    with pytest.raises(QueueFull, match=r"Queue full \(max length: 2\)"):
        mail.enqueue(event("too-many"))
    mail.controls.change_setting("max_queue_size", None)
    mail.enqueue(event("one-more"))


def test_max_concurrent_holds_over_all_lanes_and_over_pods(
    queue: ExecutionQueueService, mail: ExecutionQueueService
) -> None:
    queue.controls.change_setting("max_concurrent", 3)
    fill(queue, 5)
    fill(mail, 5)
    assert start(mail, 2) == 2
    queue.transitions.hand_over("mail-0", 1, "a-pod", "uid")
    assert (start(queue, 5), start(mail, 5)) == (1, 0)
    assert queue.try_schedule() is None
    assert queue.explain("executions-1").reasons[0] == "all slots are taken: 3 of 3 (max_concurrent)"
    queue.transitions.release("mail-0", 1, State.COMPLETED)
    assert start(queue, 5) == 1
    queue.controls.change_setting("max_concurrent", None)
    assert start(mail, 5) == 3


def test_a_lane_at_its_bound_is_no_candidate_and_gets_no_token(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    def is_candidate() -> bool:
        return redis_client.zscore("exec_queue:lanes", "executions") is not None

    def tokens() -> Any:
        return redis_client.llen("exec_queue:wake:executions")

    fill(queue, 14)
    assert (is_candidate(), tokens()) == (True, 1), "all came in one call"
    assert start(queue, DEFAULT_LIMIT) == DEFAULT_LIMIT
    assert (is_candidate(), tokens()) == (False, 0)
    queue.enqueue(event("better", priority="CRITICAL"))
    queue.update_priority("better", "HIGH")
    queue.maintenance.wake()
    assert (is_candidate(), tokens()) == (False, 0)

    queue.release("executions-0")
    assert (is_candidate(), tokens()) == (True, 1)
    assert start(queue, 1) == 1
    assert (is_candidate(), tokens()) == (False, 0)
    queue.controls.change_setting("max_concurrent_executions", 12)
    assert (is_candidate(), tokens()) == (True, 1)
    queue.controls.change_setting("max_concurrent_executions", 2)
    assert (is_candidate(), tokens()) == (False, 0)
    queue.retry("executions-1", 1)
    assert (is_candidate(), tokens()) == (False, 0)
    Invariants().check(read_dump(redis_client, queue.scripts.keys))


def test_a_full_lane_is_never_the_better_one(queue: ExecutionQueueService, mail: ExecutionQueueService) -> None:
    queue.enqueue_many([event(f"urgent-{number}", priority="CRITICAL") for number in range(15)])
    fill(mail, 3)
    lanes = ("executions", "mail")
    assert len(queue.transitions.admit(lanes, 12, lease_ms=60_000, consumer=True).grants) == 12
    more = queue.transitions.admit(lanes, 3, lease_ms=60_000, consumer=True)
    assert [grant.lane for grant in more.grants] == ["mail"]
    assert not queue.transitions.admit(lanes, 0, consumer=True).more, "nothing could use a thread"


def test_a_lane_below_its_own_limit_is_served_again_when_a_lost_record_gives_its_slot_back(
    queue: ExecutionQueueService, redis_client: redis.Redis
) -> None:
    fill(queue, 11)
    assert start(queue, DEFAULT_LIMIT) == DEFAULT_LIMIT
    redis_client.delete("exec_queue:meta:executions-0")
    assert queue.transitions.forget("executions-0\nexecutions\naction:pod")
    assert redis_client.zscore("exec_queue:lanes", "executions") is not None
    assert start(queue, 2) == 1


@pytest.mark.parametrize(
    ("name", "lane", "problem"),
    [
        (
            "lease_ttl_ms",
            "mail",
            "'lease_ttl_ms' is not a bound of a lane; allowed: ageing_seconds, max_concurrent_executions",
        ),
        ("max_concurrent", "mail", "'max_concurrent' is not a bound of a lane"),
        ("max_queue_size", "no lane", "'no lane' is not a lane's name"),
    ],
)
def test_what_is_no_lanes_bound_is_refused(
    queue: ExecutionQueueService, redis_client: redis.Redis, name: str, lane: str, problem: str
) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        queue.controls.change_setting(name, 5, lane=lane)
    assert redis_client.exists("exec_queue:settings") == 0


def test_the_lanes_that_are_in_use_are_known_whether_or_not_a_worker_came(redis_client: redis.Redis) -> None:
    queue = TurnedQueue(redis_client)
    queue.on("later").enqueue(event("a", scheduled_at="2099-01-01T00:00:00Z"))
    queue.on("mail").enqueue(event("b"))
    queue.clock.turn(2_000)
    queue.on("reports").enqueue(event("c", priority="HIGH"))
    assert [each.lane for each in queue.overview.lanes()] == ["later", "mail", "reports"]
    assert list(queue.ids.waiting()) == ["c", "b"]
    assert start(queue.on("mail"), 1) == 1
    assert (queue.ids.active(), list(queue.ids.waiting())) == (["b"], ["c"])


@pytest.mark.parametrize("by_hand", ["raised", "lifted", "all lost"])
def test_a_full_lane_whose_bound_is_raised_by_hand_goes_on_when_a_consumer_asks(
    redis_client: redis.Redis, by_hand: str
) -> None:
    queue = TurnedQueue(redis_client)
    mail, field = queue.on("mail"), "lane:mail:max_concurrent_executions"
    queue.controls.change_setting("max_concurrent_executions", 2, lane="mail")
    for number in range(6):
        mail.enqueue(event(f"mail-{number}"))
    lanes = (queue.lane, mail.lane)
    grants = queue.transitions.admit(lanes, 4, lease_ms=100_000, consumer=True).grants
    assert len(grants) == 2
    if by_hand == "raised":
        redis_client.hset("exec_queue:settings", field, 4)
    elif by_hand == "lifted":
        redis_client.hdel("exec_queue:settings", field)
    else:
        redis_client.delete("exec_queue:settings")
    for grant in grants:
        queue.transitions.release(grant.execution_id, grant.attempt, State.COMPLETED)
    queue.clock.turn(1_001)
    started = 0
    for _ in range(2):  # the first call of a second notes the time, and the next reads what it finds
        started += len(queue.transitions.admit(lanes, 4, lease_ms=100_000, consumer=True).grants)
        queue.clock.turn(1_001)
    assert started == 4

"""What is left of an execution that has ended: little, as long as anything may ask for it or bring it back."""

from collections.abc import Callable
from uuid import uuid4

import pytest
import redis
from defects.contrast import event
from turned_queue import TurnedQueue

from bandmaster.scheduler.engine.grants import Code, Parked, Renewal
from bandmaster.scheduler.engine.parking import Candidate
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import DuplicateExecution, UnknownExecution
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

LANE = "mail"
MANY = 500
MOST_BYTES = 120
DIRECT_SECONDS = 600
DAY_SECONDS = 86_400
OWN_KEYS = {"actions", "changes", "clock", "journal", "settings", "rounds"}
"""Beside these, statistics and last answers, nothing may stay of a queue in which all has ended."""


def letter(name: str, *, lane: str = LANE, parent: str = "", is_lasting: bool = True) -> Candidate:
    return Candidate(
        name,
        lane,
        2,
        "send_mail",
        "ann",
        ("tenant:acme",),
        timeout_ms=60_000,
        message=b"a message" * 20,
        parent=parent,
        is_lasting=is_lasting,
    )


def run(queue: ExecutionQueueService, name: str) -> None:
    """Until its end."""
    (grant,) = queue.transitions.admit((LANE,), 1, lease_ms=30_000).grants
    assert grant.execution_id == name
    assert queue.transitions.release(name, grant.attempt, State.COMPLETED, holder=grant.nonce).code is Code.OK


def ttl(client: redis.Redis, key: str) -> int:
    return int(client.ttl(f"exec_queue:{key}"))  # type: ignore[arg-type]


def duplicate(queue: ExecutionQueueService, candidate: Candidate) -> State | None:
    with pytest.raises(DuplicateExecution) as refused:
        queue.transitions.park(candidate)
    return refused.value.state


def test_an_ended_execution_leaves_120_bytes_at_most_and_nothing_else(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_concurrent_executions", MANY)
    queue.controls.change_setting("max_executions_per_user", MANY)
    names = [str(uuid4()) for _ in range(MANY)]
    assert all(isinstance(each, Parked) for each in queue.transitions.park_many([letter(name) for name in names]))
    for name in names[: MANY // 2]:
        assert queue.cancel(name).state is State.CANCELLED
    while grants := queue.transitions.admit((LANE,), 100, lease_ms=30_000).grants:
        for grant in grants:
            queue.transitions.release(grant.execution_id, grant.attempt, State.COMPLETED, holder=grant.nonce)
    queue.outbox.empty(LANE)  # the ends of those that were cancelled are told
    sizes = [redis_client.memory_usage(f"exec_queue:end:{name}", samples=0) for name in names]
    assert max(sizes) <= MOST_BYTES  # type: ignore[type-var]
    kept: list[bytes] = redis_client.keys("*")  # type: ignore[assignment]
    left = {key.decode().removeprefix("exec_queue:") for key in kept} - {f"end:{name}" for name in names}
    assert {key for key in left if not key.startswith(("reply:", "action:"))} <= OWN_KEYS


@pytest.mark.parametrize(("is_lasting", "seconds"), [(False, DIRECT_SECONDS), (True, DAY_SECONDS)])
@pytest.mark.parametrize("end", ["released", "cancelled", "reaped", "dropped"])
def test_how_long_it_is_known_does_not_depend_on_how_it_ended(
    is_lasting: bool, seconds: int, end: str, redis_client: redis.Redis
) -> None:
    queue = TurnedQueue(redis_client)
    queue.controls.change_setting("max_crashes", 0)
    queue.transitions.park(letter("x", is_lasting=is_lasting))
    if end == "released":
        run(queue, "x")
    elif end == "cancelled":
        queue.cancel("x")
    elif end == "reaped":
        queue.transitions.admit((LANE,), 1, lease_ms=1_000)
        queue.cancel("x")
        queue.let_time_pass(2)
        queue.maintenance.reap()
    else:
        queue.transitions.admit((LANE,), 1, lease_ms=30_000)
        queue.transitions.release("x", 1, State.FAILED, dead=True)
        assert ttl(redis_client, "end:x") == -2, "a dead letter is known by its record"
        assert queue.drop("x")
    queue.outbox.empty(LANE)  # until its end was told, all of it is there
    assert seconds - 60 < ttl(redis_client, "end:x") <= seconds
    assert redis_client.exists("exec_queue:meta:x", "exec_queue:message:x") == 0
    assert duplicate(queue, letter("x")) == State(queue.views.meta("x")["state"])


def test_the_lane_of_events_keeps_record_and_result_for_a_day(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    for name in ("named", str(uuid4())):
        queue.enqueue(event(name, user="ann"))
        queue.try_schedule()
        queue.transitions.release(name, 1, State.COMPLETED, result=b"{}")
        assert queue.views.meta(name)["user"] == "ann"
        for key in ("meta", "result"):
            assert DAY_SECONDS - 60 < ttl(redis_client, f"{key}:{name}") <= DAY_SECONDS
        assert ttl(redis_client, f"end:{name}") == -2
        assert duplicate(queue, letter(name, lane=DEFAULT_LANE)) is State.COMPLETED


LATE: dict[str, Callable[[ExecutionQueueService], Code]] = {
    "release": lambda queue: queue.release("x", 1),
    "retry": lambda queue: queue.retry("x", 1),
    "cancel": lambda queue: queue.cancel("x").code,
    "hand_over": lambda queue: queue.transitions.hand_over("x", 1, "a-pod", "uid").code,
    "remove": lambda queue: queue.transitions.remove("x")[0],
    "reprioritise": lambda queue: queue.transitions.reprioritise("x", "HIGH")[0],
}


@pytest.mark.parametrize("name", LATE)
def test_who_comes_late_is_told_that_it_has_ended_and_later_that_nothing_is_known(
    name: str, redis_client: redis.Redis
) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.transitions.park(letter("x"))
    run(queue, "x")
    before = redis_client.dump("exec_queue:end:x")
    assert LATE[name](queue) is Code.ENDED
    assert redis_client.dump("exec_queue:end:x") == before
    redis_client.delete("exec_queue:end:x")  # its time has run out
    assert LATE[name](queue) is Code.UNKNOWN
    assert redis_client.keys("exec_queue:*:x") == []


def test_a_late_renewal_is_stale_whatever_is_left(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.transitions.park(letter("x"))
    (grant,) = queue.transitions.admit((LANE,), 1, lease_ms=30_000).grants
    queue.transitions.release("x", 1, State.COMPLETED)
    assert queue.transitions.renew([grant]) == [Renewal.STALE]
    redis_client.delete("exec_queue:end:x")
    assert queue.transitions.renew([grant]) == [Renewal.STALE]


def test_state_and_attempt_are_what_is_known_of_it(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.transitions.park(letter("x"))
    run(queue, "x")
    queue.transitions.park(letter("y"))
    assert queue.views.meta("x") == {"state": "COMPLETED", "attempt": "1"}
    assert [meta.get("state") for meta in queue.views.metas(["y", "x", "z"])] == ["PENDING", "COMPLETED", None]
    explained = queue.explain("x")
    assert (explained.state, explained.position, explained.reasons) == (State.COMPLETED, None, [])
    assert explained.meta == queue.views.meta("x")
    assert queue.explain("y").meta == queue.views.meta("y")
    with pytest.raises(UnknownExecution):
        queue.explain("z")


def test_a_lease_that_was_left_of_one_that_has_ended_holds_the_reaper_up_from_nothing(
    redis_client: redis.Redis,
) -> None:
    queue = TurnedQueue(redis_client)
    queue.transitions.park(letter("x"))
    run(queue, "x")
    queue.transitions.park(letter("other"))
    queue.transitions.admit((LANE,), 1, lease_ms=1_000)
    redis_client.zadd("exec_queue:lease", {f"x\n{LANE}\naction:send_mail": 1})
    queue.let_time_pass(2)
    queue.maintenance.reap()
    assert redis_client.zcard("exec_queue:lease") == 0
    assert queue.views.meta("other")["state"] == State.PENDING
    assert queue.views.meta("x")["state"] == State.COMPLETED


class TestParents:
    """What a hook sent is known as long as it may send it again."""

    @pytest.fixture
    def queue(self, redis_client: redis.Redis) -> ExecutionQueueService:
        """The parent's body is over, and its hook has sent a step, which has ended and been forgotten."""
        queue = ExecutionQueueService(redis_client)
        queue.transitions.park(letter("parent"))
        queue.transitions.admit((LANE,), 1, lease_ms=30_000)
        queue.transitions.park(letter("step", parent="parent"))
        run(queue, "step")
        redis_client.delete("exec_queue:end:step")
        return queue

    def test_a_step_is_a_duplicate_while_its_parent_lives(self, queue: ExecutionQueueService) -> None:
        assert duplicate(queue, letter("step", parent="parent")) is None
        queue.retry("parent", 1, delay_ms=10 * DAY_SECONDS * 1000)
        assert duplicate(queue, letter("step", parent="parent")) is None
        queue.transitions.bury(letter("step", parent="parent"), "full")
        assert queue.views.dead() == []

    def test_it_is_forgotten_with_its_parent(self, queue: ExecutionQueueService, redis_client: redis.Redis) -> None:
        queue.release("parent", 1)
        queue.transitions.park(letter("step", parent="parent"))
        assert redis_client.exists("exec_queue:meta:parent") == 0, "what has ended is not made to live again"

    def test_another_parents_step_is_its_own(self, queue: ExecutionQueueService) -> None:
        queue.transitions.park(letter("step", parent="another"))
        assert queue.views.meta("step")["state"] == State.PENDING

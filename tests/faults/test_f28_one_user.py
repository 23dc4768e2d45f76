"""F28: ten thousand requests of one user. The caps hold, and the others' requests start at once."""

import redis
from defects.contrast import event

from bandmaster.scheduler.engine.grants import Parked
from bandmaster.scheduler.engine.transitions import Candidate
from bandmaster.scheduler.keys import DEFAULT_LANE
from bandmaster.scheduler.model.errors import UserLimitExceeded
from bandmaster.scheduler.queue import ExecutionQueueService

MANY = 10_000
QUEUED_BY_DEFAULT = 100


def flood() -> list[Candidate]:
    """Of ann, and urgent."""
    return [
        Candidate(f"ann-{number}", DEFAULT_LANE, 0, "pod", "ann", timeout_ms=1_000, event=b"{}")
        for number in range(MANY)
    ]


def test_one_user_may_have_so_many_waiting_and_the_others_are_accepted(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    outcomes = queue.transitions.park_many(flood())
    assert sum(isinstance(outcome, Parked) for outcome in outcomes) == QUEUED_BY_DEFAULT
    assert all(isinstance(outcome, UserLimitExceeded) for outcome in outcomes[QUEUED_BY_DEFAULT:])
    assert queue.enqueue(event("bob-1", user="bob")) == QUEUED_BY_DEFAULT
    assert queue.get_queue_status()["queue_depth"] == QUEUED_BY_DEFAULT + 1
    assert len(redis_client.keys("exec_queue:meta:*")) == QUEUED_BY_DEFAULT + 1  # type: ignore[arg-type]


def test_a_flood_that_was_accepted_holds_nobody_back_who_has_room(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.controls.change_setting("max_executions_per_user", MANY)
    queue.controls.change_setting("max_queue_size", MANY + 1)
    queue.controls.set_limit("user:ann", 2)
    queue.transitions.park_many(flood())
    queue.enqueue(event("bob-1", user="bob", priority="BACKGROUND"))

    started: list[str] = []
    calls = 0
    while True:
        admission = queue.transitions.admit((DEFAULT_LANE,), 10)
        calls += 1
        started += [grant.execution_id for grant in admission.grants]
        if not admission.more and not admission.grants:
            break

    assert started == ["ann-0", "ann-1", "bob-1"], "no more of ann's than her limit, and bob at once"
    assert calls <= MANY // 100 + 2, "each looks at a hundred, once"
    # The flood is known to wait for ann's gate now: the next admission is short, and hers go on in order.
    queue.release("ann-0")
    admission = queue.transitions.admit((DEFAULT_LANE,), 10)
    assert [grant.execution_id for grant in admission.grants] == ["ann-2"]
    assert not admission.more

"""A grant is its nonce: where a server with older data gives `(id, attempt)` again, only one of the two holders acts.

The server of these tests forgets by being given an earlier dump of itself (F14); `tests/faults_server` kills one.
"""

from collections.abc import Callable
from typing import Any

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.grants import Code, Grant, Renewal, pod_holder, read_exchange
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Next, Transitions
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

LEASE_MS = 30_000


def admitted(queue: ExecutionQueueService) -> Grant:
    (grant,) = queue.transitions.admit((queue.lane,), 1, lease_ms=LEASE_MS).grants
    return grant


def put_back(client: redis.Redis, queue: ExecutionQueueService, changes: Callable[[], Grant]) -> Grant:
    """Make changes and have the server forget them, but for their results in this process."""
    saved: dict[Any, Any] = {key: client.dump(key) for key in client.keys("exec_queue:*")}  # type: ignore[union-attr]
    grant = changes()
    client.flushdb()
    for key, data in saved.items():
        client.restore(key, 0, data)
    assert queue.views.meta(grant.execution_id)["state"] == State.PENDING
    return grant


@pytest.fixture
def both(redis_client: redis.Redis) -> tuple[ExecutionQueueService, Grant, Grant]:
    """A grant that the server forgot, and that of the same attempt which it gave then."""
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    stale = put_back(redis_client, queue, lambda: admitted(queue))
    current = admitted(queue)
    assert (stale.execution_id, stale.attempt) == (current.execution_id, current.attempt)
    assert stale.nonce != current.nonce
    return queue, stale, current


ACTS: dict[str, Callable[[Transitions, Grant], Any]] = {
    "release": lambda transitions, grant: (
        transitions.release("x", grant.attempt, State.FAILED, holder=grant.nonce, only=State.RUNNING).code
    ),
    "retry": lambda transitions, grant: transitions.settle(Retry("x", grant.attempt, "retry", holder=grant.nonce)).code,
    "hand_back": lambda transitions, grant: (
        transitions.settle(Retry("x", grant.attempt, "hand_back", holder=grant.nonce)).code
    ),
    "hand_over": lambda transitions, grant: (
        transitions.hand_over("x", grant.attempt, "a-pod", "uid", holder=grant.nonce).code
    ),
    "renew": lambda transitions, grant: Code(transitions.renew([grant])[0].replace("RENEWED", "OK")),
}


@pytest.mark.parametrize("act", ACTS)
def test_f14_a_grant_that_the_server_forgot_changes_nothing(
    act: str, both: tuple[ExecutionQueueService, Grant, Grant]
) -> None:
    queue, stale, current = both
    before = queue.views.meta("x")
    assert ACTS[act](queue.transitions, stale) is Code.STALE
    assert queue.views.meta("x") == before
    assert ACTS[act](queue.transitions, current) is Code.OK


def test_who_knows_the_attempt_alone_may_act_as_before(both: tuple[ExecutionQueueService, Grant, Grant]) -> None:
    queue, _, current = both
    assert queue.transitions.renew([("x", current.attempt, "")]) == [Renewal.RENEWED]
    assert queue.release("x", current.attempt) is Code.OK


def test_a_repeated_admission_is_not_answered_with_another_calls_grant(redis_client: redis.Redis) -> None:
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(event("x"))
    lost = queue.transitions.prepare_exchange((), Next((queue.lane,), 1, LEASE_MS))
    lost.run()
    # The server keeps the answer, and forgets the grant: somebody else is given the same attempt.
    queue.retry("x", 1)
    redis_client.hset("exec_queue:meta:x", "attempt", "0")
    assert admitted(queue).attempt == 1
    assert read_exchange(lost.run()).admission.grants == []


def test_the_end_of_another_pod_of_the_same_attempt_ends_nothing(
    both: tuple[ExecutionQueueService, Grant, Grant],
) -> None:
    queue, _, current = both
    assert queue.transitions.hand_over("x", 1, "a-pod", "new", holder=current.nonce).is_wanted
    ended = queue.transitions.release("x", 1, State.FAILED, holder=pod_holder("old"))
    assert ended.code is Code.STALE
    assert queue.transitions.renew([("x", 1, pod_holder("old")), ("x", 1, pod_holder("new"))]) == [
        Renewal.STALE,
        Renewal.RENEWED,
    ]
    assert queue.transitions.release("x", 1, State.COMPLETED, holder=pod_holder("new")).code is Code.OK


def test_a_pod_that_ends_before_it_was_handed_the_grant_is_known_by_its_attempt(
    both: tuple[ExecutionQueueService, Grant, Grant],
) -> None:
    queue, _, _ = both
    assert queue.transitions.release("x", 1, State.COMPLETED, holder=pod_holder("any")).code is Code.OK


def test_the_pod_of_a_forgotten_grant_is_kept_while_its_attempt_is_current_and_wanted(
    both: tuple[ExecutionQueueService, Grant, Grant],
) -> None:
    queue, stale, current = both
    told = queue.transitions.hand_over("x", 1, "a-pod", "uid", holder=stale.nonce)
    assert (told.code, told.is_wanted) == (Code.STALE, True)
    queue.cancel("x")
    assert not queue.transitions.hand_over("x", 1, "a-pod", "uid", holder=stale.nonce).is_wanted
    queue.transitions.release("x", 1, State.CANCELLED, holder=current.nonce)
    assert not queue.transitions.hand_over("x", 1, "a-pod", "uid", holder=stale.nonce).is_wanted

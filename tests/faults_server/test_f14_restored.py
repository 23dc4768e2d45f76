"""F14: a server that comes back with older data gives an attempt a second time. Who held it first changes nothing."""

from collections.abc import Callable, Iterator
from typing import Any, Final

import pytest
import redis
from defects.contrast import event

from bandmaster.scheduler.engine.grants import Code, Grant, Renewal, pod_holder
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.engine.transitions import Transitions
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from faults_server.restoring import RestoringServer, restoring_server

pytestmark = pytest.mark.slow

NAME = "the-one"
Act = Callable[[Transitions, Grant], bool]
LEASE_MS = 60_000


@pytest.fixture
def server() -> Iterator[RestoringServer]:
    """Runs."""
    with restoring_server() as running:
        yield running


@pytest.fixture
def queue(server: RestoringServer) -> Iterator[ExecutionQueueService]:
    """Of one process."""
    with redis.Redis.from_url(server.url) as client:
        yield ExecutionQueueService(client)


@pytest.fixture(params=["the same process", "another process"])
def other(request: pytest.FixtureRequest, server: RestoringServer, queue: ExecutionQueueService) -> Iterator[Any]:
    """Of the process that is given the attempt the second time."""
    if request.param == "the same process":
        yield queue
        return
    with redis.Redis.from_url(server.url) as client:
        yield ExecutionQueueService(client)


def admit_all(queue: ExecutionQueueService, count: int) -> list[Grant]:
    return queue.transitions.admit((queue.lane,), count, lease_ms=LEASE_MS).grants


def admit(queue: ExecutionQueueService) -> Grant:
    (grant,) = admit_all(queue, 1)
    return grant


def everything(queue: ExecutionQueueService, name: str = NAME) -> tuple[object, ...]:
    """What belongs to the execution."""
    leases = queue.scripts.client.zrange(queue.scripts.keys.named("lease"), 0, -1, withscores=True)
    pod_leases = queue.scripts.client.zrange(queue.scripts.keys.named("lease:pods"), 0, -1, withscores=True)
    payload = queue.views.event(name), queue.views.message(name)
    return queue.views.meta(name), queue.views.active(), leases, pod_leases, payload, list(queue.journal.entries())


def renew(transitions: Transitions, stale: Grant) -> bool:
    return transitions.renew([stale], lease_ms=10 * LEASE_MS) == [Renewal.STALE]


def release(transitions: Transitions, stale: Grant) -> bool:
    return (
        transitions.release(stale.execution_id, stale.attempt, State.COMPLETED, holder=stale.nonce, result=b"{}").code
        is Code.STALE
    )


def retry(transitions: Transitions, stale: Grant) -> bool:
    given = Retry(stale.execution_id, stale.attempt, "retry", holder=stale.nonce, message=b"another")
    return transitions.settle(given).code is Code.STALE


def hand_back(transitions: Transitions, stale: Grant) -> bool:
    return transitions.settle(Retry(stale.execution_id, 1, "hand_back", holder=stale.nonce)).code is Code.STALE


def hand_over(transitions: Transitions, stale: Grant) -> bool:
    handed_over = transitions.hand_over(stale.execution_id, stale.attempt, "a-pod", "uid", holder=stale.nonce)
    # The pod is the attempt's, and the other holder's creation will find it: whoever made it must not delete it.
    return handed_over.code is Code.STALE and handed_over.is_wanted


ACTS: Final[tuple[Act, ...]] = (renew, release, retry, hand_back, hand_over)


def test_f14_who_held_an_attempt_that_was_given_again_changes_nothing(
    server: RestoringServer, queue: ExecutionQueueService, other: ExecutionQueueService
) -> None:
    for number in range(len(ACTS)):
        queue.enqueue(event(f"of-{number}"))
    server.remember()
    stale_ones = admit_all(queue, len(ACTS))
    server.restore()
    current_ones = admit_all(other, len(ACTS))
    assert len(current_ones) == len(ACTS)
    for act, stale, current in zip(ACTS, stale_ones, current_ones, strict=True):
        assert (current.execution_id, current.attempt) == (stale.execution_id, stale.attempt)
        assert current.nonce != stale.nonce

        before = everything(queue, current.execution_id)
        assert act(queue.transitions, stale), f"{act.__name__}: it was taken for the current holder"
        assert everything(queue, current.execution_id) == before, act.__name__

        assert other.transitions.renew([current]) == [Renewal.RENEWED]
        settled = other.transitions.release(
            current.execution_id, current.attempt, State.COMPLETED, holder=current.nonce
        )
        assert settled.code is Code.OK
    assert queue.get_queue_status() == {"queue_depth": 0, "active_count": 0}


def test_f14_whoever_knows_the_attempt_alone_may_still_end_it(
    server: RestoringServer, queue: ExecutionQueueService
) -> None:
    queue.enqueue(event(NAME))
    server.remember()
    admit(queue)
    server.restore()
    admit(queue)
    assert queue.release(NAME, 1) is Code.OK


def test_f14_a_pod_that_the_server_forgot_neither_renews_nor_ends_the_one_in_its_place(
    server: RestoringServer, queue: ExecutionQueueService
) -> None:
    transitions = queue.transitions

    def second_attempt(pod_uid: str) -> str:
        """The first one's pod is gone; returns how the second's is named."""
        transitions.settle(Retry(NAME, 1, "infrastructure"))
        grant = admit(queue)
        assert grant.attempt == 2
        assert transitions.hand_over(NAME, 2, "a-pod-2", pod_uid, holder=grant.nonce).code is Code.OK
        return pod_holder(pod_uid)

    queue.enqueue(event(NAME))
    assert transitions.hand_over(NAME, 1, "a-pod", "uid", holder=admit(queue).nonce).code is Code.OK
    server.remember()
    forgotten = second_attempt("uid-of-the-forgotten")
    server.restore()
    current = second_attempt("uid-of-the-current")

    before = everything(queue)
    assert transitions.renew([(NAME, 2, forgotten)]) == [Renewal.STALE]
    assert transitions.release(NAME, 2, State.FAILED, holder=forgotten).code is Code.STALE
    assert transitions.settle(Retry(NAME, 2, "infrastructure", holder=forgotten)).code is Code.STALE
    assert everything(queue) == before

    assert transitions.renew([(NAME, 2, current)]) == [Renewal.RENEWED]
    assert transitions.release(NAME, 2, State.COMPLETED, holder=current).code is Code.OK

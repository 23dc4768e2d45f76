"""A process whose threads are all taken promotes what is due; here nobody else does: no pump, no leader."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from bandmaster import ExecutionQueueService
from bandmaster.middleware.grants.permits import LANES, Permits
from bandmaster.middleware.worker.saturated import Saturated
from bandmaster.scheduler.model.states import State
from waiting import wait_until

PARTY = LANES


@pytest.fixture
def permits() -> Permits:
    made = Permits()
    made.open(1)
    return made


@pytest.fixture
def saturated(queue: ExecutionQueueService, permits: Permits) -> Iterator[Saturated]:
    thread = Saturated(queue, permits)
    thread.start()
    yield thread
    thread.stop()
    assert not thread.is_running


def schedule(queue: ExecutionQueueService, name: str, seconds: float) -> None:
    now = datetime.fromtimestamp(queue.views.server_time_ms() / 1000, UTC)
    event: dict[str, object] = {
        "execution_id": name,
        "command": ["true"],
        "scheduled_at": now + timedelta(seconds=seconds),
    }
    queue.enqueue(event)


def state(queue: ExecutionQueueService, name: str) -> str:
    return queue.views.meta(name)["state"]


def test_it_promotes_while_no_thread_is_free_what_is_due_before_all_it_knew(
    queue: ExecutionQueueService, permits: Permits, saturated: Saturated
) -> None:
    schedule(queue, "far", 600)
    permits.take(PARTY, 1, 0)
    schedule(queue, "later", 1.6)
    schedule(queue, "soon", 0.2)
    wait_until(lambda: state(queue, "soon") == State.PENDING, what="the first")
    wait_until(lambda: state(queue, "later") == State.PENDING, what="the second")
    assert state(queue, "far") == State.SCHEDULED


def test_while_a_thread_is_free_it_calls_nobody(
    queue: ExecutionQueueService, permits: Permits, saturated: Saturated
) -> None:
    schedule(queue, "due", 0.05)
    wait_until(lambda: queue.views.server_time_ms() > int(queue.views.meta("due")["due"]) + 600, what="its due time")
    assert state(queue, "due") == State.SCHEDULED, "that is the pump's"
    permits.take(PARTY, 1, 0)
    wait_until(lambda: state(queue, "due") == State.PENDING, what="its promotion")


def test_without_a_worker_there_are_no_permits_and_it_does_nothing(queue: ExecutionQueueService) -> None:
    thread = Saturated(queue, Permits())
    thread.start()
    schedule(queue, "due", 0.05)
    wait_until(lambda: queue.views.server_time_ms() > int(queue.views.meta("due")["due"]) + 600, what="its due time")
    assert state(queue, "due") == State.SCHEDULED
    thread.stop()

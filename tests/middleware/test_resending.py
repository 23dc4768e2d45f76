"""A body that sends under its own id: its retry if it asks for what was admitted, else a duplicate like any other's."""

from collections.abc import Callable
from typing import Any

import dramatiq
import pytest
from dramatiq.middleware import CurrentMessage
from working import running

from bandmaster import BandedRedisBroker, DuplicateExecution, ExecutionQueueService
from bandmaster.scheduler.engine.settlements import Retry
from bandmaster.scheduler.model.states import State
from waiting import GENEROUS_MS

EXECUTION = "order-7"


@pytest.fixture(autouse=True)
def closed(queue: ExecutionQueueService) -> None:
    queue.controls.set_limit("mail", 0)
    queue.controls.set_limit("tenant:b", 0)


def test_another_actor_under_the_same_id_is_a_duplicate_and_passes_no_gate(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    refused: list[Exception] = []
    notified: list[int] = []

    @dramatiq.actor(queue_name="mails", gates=["mail"])
    def notify(order: int) -> None:
        notified.append(order)

    @dramatiq.actor(queue_name="orders", band="NORMAL")
    def import_order(order: int) -> None:
        try:
            notify.send_with_options(args=(order,), execution_id=EXECUTION)
        except DuplicateExecution as error:
            refused.append(error)

    import_order.send_with_options(args=(7,), execution_id=EXECUTION)
    with running(broker):
        broker.join("orders", timeout=GENEROUS_MS)
    assert len(refused) == 1
    assert notified == []
    assert queue.views.meta(EXECUTION)["state"] == State.COMPLETED
    assert [entry.verb for entry in queue.journal.of(EXECUTION)] == ["park", "admit", "reject", "release"]


@pytest.mark.parametrize(
    "changed",
    [
        {"args": ("b",)},
        {"args": ("a",), "band": "CRITICAL"},
        {"args": ("a",), "user_id": "ann"},
        {"args": ("a",), "gates": ["mail"]},
        {"args": ("a",), "scheduled_at": "2096-01-01T00:00:00+00:00"},
    ],
)
def test_the_same_actor_with_other_gates_band_user_or_time_is_a_duplicate(
    changed: dict[str, Any], broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    refused: list[Exception] = []

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def work(tenant: str) -> None:
        try:
            work.send_with_options(execution_id=EXECUTION, **changed)
        except DuplicateExecution as error:
            refused.append(error)

    work.send_with_options(args=("a",), execution_id=EXECUTION)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert len(refused) == 1
    assert queue.views.meta(EXECUTION)["state"] == State.COMPLETED


def test_the_same_actor_with_other_arguments_and_the_same_gates_is_its_retry(
    broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    steps: list[int] = []

    @dramatiq.actor(gates=["tenant:{tenant}"])
    def work(tenant: str, step: int) -> None:
        steps.append(step)
        if step < 3:
            work.send_with_options(args=(tenant, step + 1), execution_id=EXECUTION)

    work.send_with_options(args=("a", 1), execution_id=EXECUTION)
    with running(broker):
        broker.join("default", timeout=GENEROUS_MS)
    assert steps == [1, 2, 3]
    assert queue.views.meta(EXECUTION)["attempt"] == "3"


def resend(number: int) -> None:
    """Send what runs once more."""
    message = CurrentMessage.get_current_message()
    assert message is not None
    broker = dramatiq.get_broker()
    broker.enqueue(message)


def retry_at_once(number: int) -> None:
    """Ask Dramatiq for it."""
    raise dramatiq.Retry(delay=0)


@pytest.mark.parametrize("again", [resend, retry_at_once])
def test_what_asks_for_itself_again_comes_after_what_waits(
    again: Callable[[int], None], broker: BandedRedisBroker, queue: ExecutionQueueService
) -> None:
    broker.add_middleware(CurrentMessage())
    ran: list[int] = []

    @dramatiq.actor(band="NORMAL")
    def work(number: int) -> None:
        ran.append(number)
        if number == 0 and ran.count(0) < 3:
            again(number)

    @dramatiq.actor(band="LOW")
    def later() -> None:
        ran.append(-1)

    later.send()
    first = work.send(0)
    for number in (1, 2):
        work.send(number)
    # No bound refuses what was accepted already.
    queue.controls.change_setting("max_queue_size", 1)
    with running(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == [0, 1, 2, 0, 0, -1]
    meta = queue.views.meta(first.options["execution_id"])
    assert (meta["state"], meta["attempt"]) == (State.COMPLETED, "3")


def test_what_was_taken_from_a_body_keeps_its_place(broker: BandedRedisBroker, queue: ExecutionQueueService) -> None:
    @dramatiq.actor(band="NORMAL")
    def work() -> None: ...

    names = [work.send().message_id for _ in range(2)]
    for kind in ("retry", "hand_back", "infrastructure"):
        (grant,) = queue.transitions.admit(("default",), 1, lease_ms=60_000).grants
        assert grant.execution_id == names[0]
        queue.transitions.settle(Retry(grant.execution_id, grant.attempt, kind, holder=grant.nonce))
    (grant,) = queue.transitions.admit(("default",), 1, lease_ms=60_000).grants
    queue.transitions.settle(Retry(grant.execution_id, grant.attempt, "requeue", holder=grant.nonce))
    assert queue.views.pending() == [names[1], names[0]]

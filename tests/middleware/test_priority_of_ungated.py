"""``priority=`` of ungated actors does what it does on `RedisBroker`, with a gated actor declared beside or not."""

import threading
from collections.abc import Callable

import dramatiq
import pytest
from working import running

from bandmaster import BandedRedisBroker
from waiting import GENEROUS_MS, GENEROUS_SECONDS, wait_until

SENT_BEFORE = 12


def gate_beside(queue_name: str) -> None:
    """Declare a gated actor on a queue."""

    @dramatiq.actor(band="HIGH", queue_name=queue_name)
    def gated() -> None: ...


BESIDE: dict[str, Callable[[], None]] = {
    "alone": lambda: None,
    "a gated one on its queue": lambda: gate_beside("default"),
    "a gated one elsewhere": lambda: gate_beside("elsewhere"),
}


@pytest.mark.parametrize("beside", BESIDE.values(), ids=BESIDE)
@pytest.mark.parametrize("urgent_queue", ["default", "other"])
def test_the_urgent_one_of_those_that_were_fetched_runs_first(
    broker: BandedRedisBroker, beside: Callable[[], None], urgent_queue: str
) -> None:
    started: list[str] = []
    holds, go_on = threading.Event(), threading.Event()
    beside()

    @dramatiq.actor(priority=-1)
    def hold() -> None:
        holds.set()
        go_on.wait(GENEROUS_SECONDS)

    @dramatiq.actor(priority=10)
    def normal() -> None:
        started.append("normal")

    @dramatiq.actor(priority=0, queue_name=urgent_queue)
    def urgent() -> None:
        started.append("urgent")

    with running(broker, threads=1) as worker:
        for consumer in worker.consumers.values():
            consumer.prefetch = 2 * SENT_BEFORE
        wait_until(lambda: all(each.consumer for each in worker.consumers.values()), what="all consume")
        for consumer in worker.consumers.values():
            consumer.consumer.prefetch = 2 * SENT_BEFORE  # type: ignore[union-attr]
        hold.send()
        assert holds.wait(GENEROUS_SECONDS)
        for _ in range(SENT_BEFORE):
            normal.send()
        urgent.send()
        wait_until(lambda: list_is_empty(broker, "default", urgent_queue), what="all are fetched")
        go_on.set()
        broker.join("default", timeout=GENEROUS_MS)
        broker.join(urgent_queue, timeout=GENEROUS_MS)
    assert started.index("urgent") == 0
    assert len(started) == SENT_BEFORE + 1


def list_is_empty(broker: BandedRedisBroker, *queue_names: str) -> bool:
    return not any(broker.plain_client.llen(f"dramatiq:{name}") for name in queue_names)


def test_those_of_one_priority_run_in_the_order_in_which_they_came(broker: BandedRedisBroker) -> None:
    ran: list[int] = []
    gate_beside("default")

    @dramatiq.actor
    def work(number: int) -> None:
        ran.append(number)

    for number in range(50):
        work.send(number)
    with running(broker, threads=1):
        broker.join("default", timeout=GENEROUS_MS)
    assert ran == list(range(50))

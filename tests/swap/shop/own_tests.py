"""The shop's own tests, written for `RedisBroker` as Dramatiq's guide has it. They know nothing of Bandmaster."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from dramatiq import Worker, group, pipeline

from swap.shop import application as shop

JOIN_MS = 60_000


@pytest.fixture(autouse=True)
def empty() -> None:
    """Nothing was ordered yet."""
    shop.shelf.flushdb()


@pytest.fixture(scope="session", autouse=True)
def booted() -> None:
    """As in a worker's process."""
    shop.broker.emit_after("process_boot")


@pytest.fixture
def worker() -> Iterator[Worker]:
    """One that works."""
    made = Worker(shop.broker, worker_timeout=100, worker_threads=1)
    made.start()
    yield made
    made.stop()


def all_done(worker: Worker, queue_name: str = "orders") -> None:
    """Everything was worked on."""
    shop.broker.join(queue_name, timeout=JOIN_MS)
    worker.join()


def until(condition: Callable[[], object]) -> None:
    """Wait for something."""
    deadline = time.monotonic() + JOIN_MS / 1000
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_an_order_keeps_its_options(worker: Worker) -> None:
    options = {"band": "The Gates", "user_id": 7, "gates": "north", "scheduled_at": "next summer"}
    shop.book.send_with_options(args=("arena", 1), **options)
    shop.book.send_with_options(args=("arena", 2), delay=20, **options)
    all_done(worker)
    assert shop.notes("orders") == [list(options.values())] * 2
    assert shop.notes("booked") == [["arena", 1], ["arena", 2]]


def test_a_booking_is_a_result(worker: Worker) -> None:
    assert shop.book.send("arena", 3).get_result(block=True, timeout=JOIN_MS) == ["arena", 3]


def test_a_ticket_is_printed_after_the_booking(worker: Worker) -> None:
    pipe = pipeline([shop.book.message("arena", 4), shop.print_ticket.message()]).run()
    assert pipe.get_result(block=True, timeout=JOIN_MS) == "arena/4 main"
    assert shop.notes("printed") == [["arena", 4]]


def test_a_family_books_together(worker: Worker) -> None:
    together: Any = group([shop.book.message("arena", seat) for seat in range(4)]).run()
    booked: list[Any] = list(together.get_results(block=True, timeout=JOIN_MS))
    assert sorted(booked) == [["arena", seat] for seat in range(4)]


def test_a_failed_refund_is_tried_again_and_reaches_sentry(worker: Worker) -> None:
    sent = shop.refund.send(5)
    all_done(worker)
    assert shop.notes("refunds") == [5, 5]
    assert shop.notes("sentry") == [["LookupError", sent.message_id]] * 2


def test_the_urgent_call_comes_first() -> None:
    made = Worker(shop.broker, worker_timeout=100, worker_threads=2)
    made.start()
    for name in ("one", "two"):
        shop.queue_up.send(name)
    until(lambda: len(shop.notes("queued")) == 2)
    shop.advertise.send(1)
    shop.call_back.send(2)
    until(lambda: not shop.shelf.llen("shop:orders"))
    shop.shelf.set("shop-notes:open:one", 1)
    until(lambda: len(shop.notes("calls")) == 2)
    shop.shelf.set("shop-notes:open:two", 1)
    all_done(made)
    made.stop()
    assert shop.notes("calls") == [2, 1]


def test_what_is_periodic_runs_unless_it_is_outdated(worker: Worker) -> None:
    now = datetime.now(UTC)
    shop.tidy.send_with_options(scheduled_at=str(now))
    shop.tidy.send_with_options(scheduled_at=str(now - timedelta(hours=1)))
    all_done(worker, "housekeeping")
    assert shop.notes("tidied") == [1]

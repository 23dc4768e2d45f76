"""An application that made its broker at import is tested in memory: no server, no patching, nothing left behind."""

from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
import reporting
from dramatiq import group
from dramatiq.brokers.redis import RedisBroker
from dramatiq.brokers.stub import StubBroker

from bandmaster import BandedRedisBroker, ConcurrencyGate, InvalidRequest, PriorityBands, QueueFull
from bandmaster.testing import BandedStubBroker, in_memory, working


@pytest.fixture
def app() -> Iterator[Any]:
    """The application, whose broker is Dramatiq's global one."""
    reporting.ended.clear()
    dramatiq.set_broker(reporting.broker)
    yield reporting
    dramatiq.set_broker(StubBroker())


def test_every_name_for_the_broker_goes_to_memory_and_comes_back(app: Any) -> None:
    before: dict[str, Any] = {**vars(app.broker)}
    with in_memory() as broker:
        assert broker is app.broker is app.report.broker is dramatiq.get_broker()
        assert app.report_all(["a", "b"]) == 2
        app.report.send("c", "2026-11")
        with working(app.broker, threads=1):
            app.broker.join("default")
        assert app.ended == ["a 2026-11", "b 2026-11", "c 2026-11"]
        with pytest.raises(InvalidRequest):
            app.report.send("", "2026-11")
    assert type(app.broker) is BandedRedisBroker
    assert vars(app.broker) == before


def test_results_and_barriers_of_groups_are_kept_in_memory(app: Any) -> None:
    with in_memory() as broker, working(broker):
        reports: Any = group([app.report.message("a", "1"), app.report.message("b", "2")])
        reports.add_completion_callback(app.mail.message("all done"))
        reports.run()
        assert list(reports.get_results(block=True)) == ["a.pdf", "b.pdf"]
        broker.join("default")
        broker.join("mails")
        assert app.ended[-1] == "mail all done"


def test_each_time_it_begins_empty_and_without_limits(app: Any) -> None:
    for _ in range(2):
        with in_memory() as broker:
            assert broker.waiting("default") == []
            assert broker.queue.controls.limits() == {}
            app.report.send_with_options(args=("a", "1"), execution_id="same")
            broker.queue.controls.set_limit("tenant:a", 1)


def test_what_a_test_raises_does_not_keep_the_broker_in_memory(app: Any) -> None:
    with pytest.raises(ZeroDivisionError), in_memory():
        _ = 1 / 0
    assert type(app.broker) is BandedRedisBroker


def test_middleware_boots_once_and_is_not_shown_an_actor_twice(app: Any) -> None:
    for _ in range(3):
        with in_memory() as broker, working(broker):
            app.report.send("a", "1")
            broker.join("default")
    assert app.hooks.boots == 1
    assert sorted(app.hooks.declared) == ["mail", "report"]


def test_actors_of_a_test_go_with_it_and_those_of_a_module_stay(app: Any) -> None:
    def imported() -> None: ...

    imported.__qualname__ = "imported"  # as of a module that is imported within a test
    for _ in range(2):
        with in_memory():

            @dramatiq.actor(band="HIGH")
            def of_a_test() -> None: ...  # pyright: ignore[reportUnusedFunction]  # declared is what it is

            if "imported" not in app.broker.actors:
                dramatiq.actor(band="LOW")(imported)
    try:
        assert set(app.broker.actors) == {"report", "mail", "imported"}
        assert "imported" in app.broker.bands.gated
    finally:
        del app.broker.actors["imported"]


def test_a_plain_broker_with_our_two_middleware_goes_to_memory_too() -> None:
    client = redis.Redis.from_url(reporting.NOWHERE)
    plain = RedisBroker(client=client)
    plain.add_middleware(PriorityBands(client))
    plain.add_middleware(ConcurrencyGate(client))
    began: list[str] = []

    @dramatiq.actor(broker=plain, band="HIGH")
    def work(name: str) -> None:
        began.append(name)

    with in_memory(plain) as broker, working(broker):
        work.send("a")
        broker.join("default")
    assert began == ["a"]
    assert type(plain) is RedisBroker


def test_without_any_broker_there_is_one_in_memory() -> None:
    dramatiq.set_broker(None)  # pyright: ignore[reportArgumentType]  # as if none had been set
    for _ in range(2):
        with in_memory() as broker:

            @dramatiq.actor(band="HIGH")
            def work() -> None: ...

            assert type(broker) is BandedStubBroker
            work.send()
    dramatiq.set_broker(StubBroker())


def test_bounds_of_the_constructor_hold_in_memory_too() -> None:
    broker = BandedRedisBroker(
        url="redis://127.0.0.1:1",
        max_queue_size=2,
        lanes={"emails": {"max_queue_size": 1, "stale_timeout_seconds": 60}},
    )

    @dramatiq.actor(broker=broker, band="HIGH")
    def work() -> None: ...

    @dramatiq.actor(broker=broker, band="HIGH", queue_name="emails")
    def mail() -> None: ...

    with in_memory(broker):
        for actor, most in ((work, 2), (mail, 1)):
            for _ in range(most):
                actor.send()
            with pytest.raises(QueueFull):
                actor.send()

"""Actors without band, action and gates are none of our business: their options may have any name and any value.

Applications have options of their own, and so have their other middleware: periodiq sends ``scheduled_at``.
"""

from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, cast

import dramatiq
import pytest
import redis
from dramatiq import Broker
from dramatiq.brokers.redis import RedisBroker
from working import plain_redis_broker, running, stub_broker

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.server.connection import client_of
from waiting import GENEROUS_MS, wait_until

OPTIONS: dict[str, Any] = {
    "band": "not one of ours",
    "action": "pay",
    "lane": 3,
    "user_id": 17,
    "gates": "garden",
    "execution_id": "a b",
    "scheduled_at": "tomorrow",
}


@pytest.fixture(params=["banded", "redis", "stub"])
def any_broker(request: pytest.FixtureRequest, redis_url: str, redis_client: redis.Redis) -> Iterator[Broker]:
    """Each kind of broker, on an empty database."""
    made: dict[str, Callable[[], Broker]] = {
        "banded": lambda: BandedRedisBroker(client=client_of(redis_url)),
        "redis": lambda: plain_redis_broker(redis_url),
        "stub": lambda: stub_broker(redis_url),
    }
    broker = made[str(request.param)]()
    broker.emit_after("process_boot")
    yield broker
    broker.close()


def beside(broker: Broker) -> list[dict[str, Any]]:
    """A gated and an ungated actor on one queue; what the ungated one was sent with."""
    seen: list[dict[str, Any]] = []

    class Seeing(dramatiq.Middleware):
        def before_process_message(self, broker: Broker, message: dramatiq.MessageProxy) -> None:
            if message.actor_name == "ungated":
                seen.append({name: message.options.get(name) for name in OPTIONS})

    broker.add_middleware(Seeing())

    @dramatiq.actor(broker=broker, band="HIGH")
    def gated() -> None: ...

    @dramatiq.actor(broker=broker)
    def ungated() -> None: ...

    return seen


@pytest.mark.parametrize("delay", [None, 20])
def test_an_ungated_message_is_sent_and_run_with_whatever_options_it_has(
    any_broker: Broker, caplog: pytest.LogCaptureFixture, delay: int | None
) -> None:
    seen = beside(any_broker)
    any_broker.actors["ungated"].send_with_options(delay=delay, **OPTIONS)
    with running(any_broker):
        wait_until(lambda: seen, what="it runs")
        any_broker.join("default", timeout=GENEROUS_MS)
    assert seen == [OPTIONS]
    assert [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"] == []


def test_they_are_sent_together_with_gated_ones(broker: BandedRedisBroker) -> None:
    seen = beside(broker)
    actors: dict[str, Any] = cast("Any", broker).actors
    sent = broker.send_many([actors["gated"].message(), actors["ungated"].message_with_options(**OPTIONS)])
    with running(broker):
        wait_until(lambda: seen, what="it runs")
        broker.join("default", timeout=GENEROUS_MS)
    assert seen == [OPTIONS]
    assert not [each for each in sent if isinstance(each, Exception)]


def test_a_delayed_one_of_a_plain_producer_neither_stops_its_consumer_nor_is_lost(
    broker: BandedRedisBroker, redis_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    seen = beside(broker)
    producer = RedisBroker(client=client_of(redis_url))

    @dramatiq.actor(broker=producer, actor_name="ungated")
    def elsewhere() -> None: ...

    for delay in (20, 40):
        elsewhere.send_with_options(delay=delay, **OPTIONS)
    with running(broker) as worker:
        consumer = worker.consumers["default.DQ"]
        wait_until(lambda: len(seen) == 2, what="both run")
        broker.join("default", timeout=GENEROUS_MS)
        assert worker.consumers["default.DQ"] is consumer
    assert seen == [OPTIONS, OPTIONS]
    assert [record.getMessage() for record in caplog.records if record.levelname == "CRITICAL"] == []
    producer.close()


def test_a_time_as_periodiq_writes_it_runs_an_ungated_actor(broker: BandedRedisBroker) -> None:
    seen = beside(broker)
    at = str(datetime(2026, 11, 22, 9, 30))
    broker.actors["ungated"].send_with_options(scheduled_at=at)
    with running(broker):
        wait_until(lambda: seen, what="it runs")
    assert seen[0]["scheduled_at"] == at

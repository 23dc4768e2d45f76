"""A consumer that got less than it asked for waits to be woken, and brings along what it will ask then."""

import threading
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
from blocked import wait_until_somebody_waits

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.states import State

RESTS_MS = 300


@pytest.fixture
def broker(redis_client: redis.Redis, redis_url: str) -> Iterator[BandedRedisBroker]:
    broker = BandedRedisBroker(url=redis_url)
    yield broker
    broker.close()


def calls(client: redis.Redis, command: str) -> int:
    statistics: Any = client.info("commandstats")
    return statistics.get(f"cmdstat_{command}", {}).get("calls", 0)


def test_it_does_not_ask_in_vain_and_is_woken(broker: BandedRedisBroker, redis_client: redis.Redis) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def actor() -> None: ...

    consumer = broker.consume("default", prefetch=4, timeout=RESTS_MS)
    try:
        first = actor.send()
        got = next(consumer)
        assert got is not None
        assert got.message_id == first.message_id
        asked, waited = calls(redis_client, "fcall"), calls(redis_client, "blpop")
        assert next(consumer) is None
        assert (calls(redis_client, "fcall"), calls(redis_client, "blpop")) == (asked + 1, waited + 1)
        # What comes now is there at the next look: the token is kept until somebody waits.
        second = actor.send()
        got = next(consumer)
        assert got is not None
        assert got.message_id == second.message_id
    finally:
        consumer.close()


def test_what_then_finds_no_free_thread_is_handed_back(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def actor() -> None: ...

    budget = broker.process.budget
    budget.open(2)
    sent = actor.send()
    budget.take("another lane", 2, 0)
    token, messages, _ = broker.process.admit_when_woken(broker, "default", 0.1)
    assert (token, messages) == (b"1", [])
    assert broker.queue.views.meta(sent.message_id)["state"] == State.PENDING
    assert budget.held("default") == 0
    budget.give("another lane", 1)
    token, messages, _ = broker.process.admit_when_woken(broker, "default", 0.1)
    assert [message.message_id for message in messages] == [sent.message_id]
    assert (budget.held("default"), budget.free) == (1, 0)


def test_what_is_admitted_while_the_worker_is_told_to_stop_is_handed_back(
    broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def actor() -> None: ...

    consumer = broker.consume("default", prefetch=4, timeout=1000)
    assert next(consumer) is None

    def stop_and_send() -> None:
        wait_until_somebody_waits(redis_client)
        broker.emit_before("worker_shutdown", None)
        actor.send_with_options(execution_id="late")

    other = threading.Thread(target=stop_and_send)
    other.start()
    assert next(consumer) is None
    other.join()
    assert broker.queue.views.meta("late")["state"] == State.PENDING
    assert broker.process.budget.held("default") == 0
    consumer.close()

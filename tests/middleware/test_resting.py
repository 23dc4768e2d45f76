"""A consumer that got less than it asked for waits to be woken, and brings along what it will ask then."""

import threading
from collections.abc import Iterator
from typing import Any

import dramatiq
import pytest
import redis
from blocked import wait_until_somebody_waits
from proxy import proxy_before

from bandmaster import BandedRedisBroker
from bandmaster.scheduler.connection import client_of
from bandmaster.scheduler.errors import QueueUnavailable
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


def test_a_token_brings_one_and_the_rest_is_asked_for_at_once(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def actor() -> None: ...

    sent = [actor.send().message_id for _ in range(3)]
    broker.process.budget.open(4)
    _, messages, wait_ms = broker.process.admit_when_woken(broker, "default", 0.1)
    assert ([message.message_id for message in messages], wait_ms) == (sent[:1], 0)
    assert broker.queue.get_queue_status() == {"queue_depth": 2, "active_count": 1}
    rest, _ = broker.process.admit(broker, "default", broker.process.budget.take("default", 4, 0))
    assert [message.message_id for message in rest] == sent[1:]
    assert broker.process.budget.free == 1


def test_a_token_for_the_list_has_it_looked_at(broker: BandedRedisBroker) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def gated() -> None: ...

    @dramatiq.actor(broker=broker)
    def plain() -> None: ...

    consumer = broker.consume("default", prefetch=4, timeout=RESTS_MS)
    assert next(consumer) is None  # now its list is not due again for a second
    sent = plain.send()
    assert next(consumer) is None
    got = next(consumer)
    assert got is not None
    assert got.message_id == sent.message_id
    consumer.ack(got)
    consumer.close()


def test_leases_are_young_however_long_it_was_to_wait(redis_client: redis.Redis, redis_url: str) -> None:
    broker = BandedRedisBroker(url=redis_url, lease_ttl_ms=900)

    @dramatiq.actor(broker=broker, band="HIGH")
    def actor() -> None: ...

    sent = actor.send()
    redis_client.delete(broker.queue.scripts.keys.wake("default"))  # the token is lost
    broker.process.budget.open(1)
    _, messages, _ = broker.process.admit_when_woken(broker, "default", 60)
    assert [message.message_id for message in messages] == [sent.message_id]
    assert messages[0].entry.is_valid()
    broker.close()


def test_what_was_admitted_for_a_consumer_that_heard_nothing_comes_with_its_next_call(
    redis_client: redis.Redis, redis_url: str
) -> None:
    with proxy_before(redis_url) as proxy, client_of(proxy.url, retries=0) as client:
        broker = BandedRedisBroker(client=client)

        @dramatiq.actor(broker=broker, band="HIGH")
        def actor() -> None: ...

        sent = actor.send()
        broker.process.budget.open(2)
        proxy.lose_reply(lambda command: command[0] == b"FCALL")
        with pytest.raises(QueueUnavailable):
            broker.process.admit_when_woken(broker, "default", 0.1)
        assert broker.queue.views.meta(sent.message_id)["state"] == State.RUNNING
        proxy.lose_reply(lambda _: False)
        messages, _ = broker.process.admit(broker, "default", broker.process.budget.take("default", 1, 0))
        assert [(each.message_id, each.entry.grant.attempt) for each in messages] == [(sent.message_id, 1)]
        broker.close()

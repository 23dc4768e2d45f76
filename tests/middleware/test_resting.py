"""A consumer that got less than it asked for waits to be woken: nothing more can be admitted until a token says so."""

import dramatiq
import pytest
import redis
from counting import calls

from bandmaster import BandedRedisBroker
from bandmaster.middleware.worker.wake_lists import LIST_TOKEN

RESTS_MS = 300


@pytest.fixture
def broker(redis_client: redis.Redis, redis_url: str) -> BandedRedisBroker:
    return BandedRedisBroker(url=redis_url)


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
        assert (calls(redis_client, "fcall"), calls(redis_client, "blpop")) == (asked, waited + 1)
        # What comes now is there at the next look: the token is kept until somebody waits.
        second = actor.send()
        found = next(found for found in (next(consumer) for _ in range(4)) if found is not None)
        assert found.message_id == second.message_id
    finally:
        consumer.close()
        broker.close()


def test_what_points_to_the_list_outlives_a_lane_that_became_empty(
    broker: BandedRedisBroker, redis_client: redis.Redis
) -> None:
    @dramatiq.actor(broker=broker, band="HIGH")
    def gated() -> None: ...

    @dramatiq.actor(broker=broker)
    def plain() -> None: ...

    consumer = broker.consume("default", prefetch=1, timeout=RESTS_MS)
    try:
        gated.send()
        first = next(consumer)
        assert first is not None
        sent = plain.send()
        consumer.ack(first)
        assert redis_client.lrange(broker.queue.scripts.keys.wake("default"), 0, -1) == [LIST_TOKEN]
        found = next(found for found in (next(consumer) for _ in range(4)) if found is not None)
        assert found.message_id == sent.message_id
        consumer.ack(found)
    finally:
        consumer.close()
        broker.close()

"""An ordinary application, one of whose messages never runs: who waits for its result is told, and its callback."""

import os

import dramatiq
import redis
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker

URL = os.environ["TELLING_REDIS_URL"]
STRAIGHT_URL = os.environ["TELLING_STRAIGHT_URL"]
"""Past the proxy: notes of what was called."""
LEASE_MS = 1_000

broker = BandedRedisBroker(url=URL, lease_ttl_ms=LEASE_MS)
broker.add_middleware(Results(backend=RedisBackend(url=URL)))
dramatiq.set_broker(broker)


@dramatiq.actor(band="HIGH", queue_name="mail", store_results=True, on_failure="failed")
def never_runs() -> None:
    """It is cancelled while it waits."""


@dramatiq.actor(band="HIGH", queue_name="callbacks")
def failed(message: dict[str, object], error: dict[str, str]) -> None:
    """Notes that it was called."""
    with redis.Redis.from_url(STRAIGHT_URL) as client:
        client.rpush("called", f"{message['message_id']} {error['type']}")

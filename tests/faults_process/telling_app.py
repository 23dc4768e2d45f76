"""An ordinary application, one of whose messages never runs: who waits for its result is told, and its callback."""

import os
from typing import Any

import dramatiq
import redis
from dramatiq.middleware import Middleware
from dramatiq.results import Results
from dramatiq.results.backends import RedisBackend

from bandmaster import BandedRedisBroker

URL = os.environ["TELLING_REDIS_URL"]
STRAIGHT_URL = os.environ["TELLING_STRAIGHT_URL"]
"""Past the proxy: notes of what was called."""
LEASE_MS = 20_000


class Rows(Middleware):
    """Notes what was skipped, as one does that keeps a row for each message."""

    def after_skip_message(self, broker: Any, message: Any) -> None:
        """Through the proxy: it is a step, too."""
        with redis.Redis.from_url(URL) as client:
            client.rpush("skipped", message.message_id)


broker = BandedRedisBroker(url=URL, lease_ttl_ms=LEASE_MS)
broker.add_middleware(Rows())
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

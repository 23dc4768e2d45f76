"""An application whose calls fail when more than so many run at once; how many that is, its server says."""

import os
import time

import dramatiq
import redis

from bandmaster import BandedRedisBroker

broker = BandedRedisBroker(url=os.environ["APP_REDIS_URL"])
dramatiq.set_broker(broker)
said = redis.Redis.from_url(os.environ["APP_SAID_URL"])
CALL_SECONDS = 0.04
"""A call is a while at the service: without that, no two would ever be there at once."""


@dramatiq.actor(action="call", max_retries=100, min_backoff=50, max_backoff=200)
def call(name: str) -> None:
    """Take its time; raise if too many did so meanwhile.

    Args:
        name: What it is called.
    """
    running: int = said.incr("running")  # type: ignore[assignment]
    try:
        time.sleep(CALL_SECONDS)
        takes: bytes = said.get("takes")  # type: ignore[assignment]
        if running > int(takes):
            raise ConnectionError("too many at once")
        said.rpush("ended", name)
    finally:
        said.decr("running")

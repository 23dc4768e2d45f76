"""An ordinary application of a few lines: the broker, ``band=``, and nothing else."""

import os
import time

import dramatiq
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from bandmaster import BandedRedisBroker

broker = BandedRedisBroker(url=os.environ["APP_REDIS_URL"], lease_ttl_ms=int(os.environ.get("APP_LEASE_MS", "1500")))
dramatiq.set_broker(broker)
# What a body says waits for a server that is away: a body that failed would wait for its retry.
said = redis.Redis.from_url(
    os.environ.get("APP_SAID_URL", os.environ["APP_REDIS_URL"]), retry=Retry(ConstantBackoff(0.1), 600)
)


@dramatiq.actor(band="HIGH")
def work(place: int, seconds: float = 0.0) -> None:
    """Say that it began, take its time, say that it ended."""
    said.rpush("began", place)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.01)
    said.rpush("ended", place)

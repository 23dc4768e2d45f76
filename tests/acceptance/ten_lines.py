"""An ordinary application of a few lines: the broker, ``band=``, and nothing else."""

import os
import time

import dramatiq

from bandmaster import BandedRedisBroker

broker = BandedRedisBroker(url=os.environ["APP_REDIS_URL"], lease_ttl_ms=1_500)
dramatiq.set_broker(broker)


@dramatiq.actor(band="HIGH")
def work(place: int, seconds: float = 0.0) -> None:
    """Say that it began, take its time, say that it ended."""
    broker.client.rpush("began", place)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(0.01)
    broker.client.rpush("ended", place)

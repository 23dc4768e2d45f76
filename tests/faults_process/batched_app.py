"""An ordinary application of two lanes and a limit; each run is noted past the proxy, with its attempt."""

import os
import time

import dramatiq
import redis

from bandmaster import BandedRedisBroker
from bandmaster.middleware.grants.context import current_entry

BODY_SECONDS = 0.02
"""Long enough for several to end while a call is under way."""

broker = BandedRedisBroker(url=os.environ["BATCHED_REDIS_URL"], lease_ttl_ms=int(os.environ["BATCHED_LEASE_MS"]))
dramatiq.set_broker(broker)
notes = redis.Redis.from_url(os.environ["BATCHED_STRAIGHT_URL"])


def note() -> None:
    """That a body has begun."""
    entry = current_entry()
    grant = None if entry is None else entry.grant
    if grant is not None:
        notes.rpush("runs", f"{grant.execution_id} {grant.attempt}")
    time.sleep(BODY_SECONDS)


@dramatiq.actor(band="HIGH", queue_name="first", gates=["disk"])
def limited() -> None:
    """Three at once."""
    note()


@dramatiq.actor(band="LOW", queue_name="second")
def free() -> None:
    """As many as there are threads."""
    note()

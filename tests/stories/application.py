"""An ordinary application with one lane and short leases, whose bodies say when they begin and end.

They say so to the server that APP_SAID_URL names, which a test may have apart: then what they said outlives what the
queue's own server forgets.
"""

import os
import time

import dramatiq
import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry

from bandmaster import BandedRedisBroker

LEASE_TTL_MS = int(os.environ.get("APP_LEASE_MS", "1500"))
HANGS_SECONDS = 120.0

broker = BandedRedisBroker(url=os.environ["APP_REDIS_URL"], lease_ttl_ms=LEASE_TTL_MS)
dramatiq.set_broker(broker)
said = redis.Redis.from_url(os.environ["APP_SAID_URL"], retry=Retry(ConstantBackoff(0.1), 600))


@dramatiq.actor(band="NORMAL")
def job(name: str, seconds: float = 0.0, hangs_first: bool = False) -> None:
    """Say that it begins, and how many had ended by then; take its time; say that it ended.

    Args:
        name: What it is called.
        seconds: Its length.
        hangs_first: The first time it goes on until its worker is killed.
    """
    ended: int = said.llen("ended")  # type: ignore[assignment]
    times: int = said.rpush(f"began:{name}", ended)  # type: ignore[assignment]
    deadline = time.monotonic() + (HANGS_SECONDS if hangs_first and times == 1 else seconds)
    while time.monotonic() < deadline:
        time.sleep(0.01)
    said.rpush("ended", name)

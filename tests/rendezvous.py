"""The actor that `probing` sends: a worker of a test takes this module beside its application's.

A body marks its thread and waits until as many threads as were asked for stand in one, so that it ends only if all of
them take work at the same time. Its client goes straight to the server, also where the worker's goes through a proxy.
"""

import os
import threading
import time

import dramatiq
import redis

LONGEST_SECONDS = 60.0
"""A body whose rendezvous fails goes away by itself, later than its test has noticed."""

client = redis.Redis.from_url(os.environ["RENDEZVOUS_REDIS_URL"])


@dramatiq.actor(queue_name=os.environ["RENDEZVOUS_LANE"], band="CRITICAL", max_retries=0)
def meet(key: str, threads: int) -> None:
    """Be one of so many threads at work at once."""
    client.sadd(key, f"{os.getpid()}-{threading.get_ident()}")
    client.expire(key, int(2 * LONGEST_SECONDS))
    deadline = time.monotonic() + LONGEST_SECONDS
    while client.scard(key) < threads:
        assert time.monotonic() < deadline, "not all threads came"
        time.sleep(0.01)

"""The jobs on Dramatiq's own Redis broker, with Dramatiq's own means for urgent messages and for limits.

In the flow: `apps/bare.py` runs them, questions send messages to them.
"""

from typing import Final

from dramatiq.brokers.redis import RedisBroker
from dramatiq.rate_limits import ConcurrentRateLimiter
from dramatiq.rate_limits.backends import RedisBackend

from .jobs import LIMIT, Jobs

TUNED_BACKOFF_MS: Final = 10
"""Bare Dramatiq retries a job over the limit later: by default after 15 s or more, with this setting after 10 ms."""
URGENT_QUEUE: Final = "urgent"


class BareJobs(Jobs):
    """The jobs on Dramatiq's own Redis broker."""

    def __init__(self, url: str) -> None:
        super().__init__(RedisBroker(url=url), url)
        self.urgent = self.declare(self.nap_body, "urgent", priority=-1)
        self.urgent_own_queue = self.declare(self.nap_body, "urgent_own_queue", queue_name=URGENT_QUEUE)
        limiter = ConcurrentRateLimiter(RedisBackend(client=self.broker.client), "limited", limit=LIMIT, ttl=60_000)

        def limited(number: int, sent_ns: int) -> None:
            with limiter.acquire():
                self.nap_body(number, sent_ns)

        self.limited = self.declare(limited, "limited", max_retries=None)
        self.limited_tuned = self.declare(
            limited, "limited_tuned", max_retries=None, min_backoff=TUNED_BACKOFF_MS, max_backoff=TUNED_BACKOFF_MS
        )

"""The measured jobs: the same bodies on bare Dramatiq (`bare_jobs.py`) and on Bandmaster (`gated_jobs.py`).

In the flow: a worker's app declares them to run them, the rig declares them to send to them. A body counts in Redis
(one INCR) or sleeps 5 or 20 ms, and writes a record. This module imports nothing of Bandmaster, so that it costs the
bare side nothing.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any, Final, cast

import dramatiq
import redis
from dramatiq import Message
from dramatiq.brokers.redis import RedisBroker

from .records import Recorder

NAP_SECONDS: Final = 0.005
LONG_NAP_SECONDS: Final = 0.02
LANES: Final = tuple(f"lane-{number}" for number in range(30))
"""The queues of `Jobs.declare_lanes`."""
LIMIT: Final = 10
"""The limit of the limited actors."""

Job = dramatiq.Actor[..., Any]


class Jobs:
    """The actors on one broker."""

    def __init__(self, broker: RedisBroker, url: str) -> None:
        self.broker = broker
        recorder = Recorder()
        # A client of its own: the broker's pool is part of what is measured.
        client = redis.Redis.from_url(url)

        def count(number: int, sent_ns: int) -> None:
            started_ns = time.monotonic_ns()
            client.incr("bench:count")
            recorder.write(number, sent_ns, started_ns)

        def nap(number: int, sent_ns: int) -> None:
            started_ns = time.monotonic_ns()
            time.sleep(NAP_SECONDS)
            recorder.write(number, sent_ns, started_ns)

        def long_nap(number: int, sent_ns: int) -> None:
            started_ns = time.monotonic_ns()
            time.sleep(LONG_NAP_SECONDS)
            recorder.write(number, sent_ns, started_ns)

        self.nap_body = nap
        self._long_nap_body = long_nap
        self.count = self.declare(count, "count")
        self.nap = self.declare(nap, "nap")

    def declare(self, body: Callable[..., None], name: str, **options: Any) -> Job:
        """Declare a body as an actor of this broker."""
        declare = cast("Callable[..., Job]", dramatiq.actor)  # its overloads know no options as a whole
        return declare(body, broker=self.broker, actor_name=name, **options)

    def declare_lanes(self) -> list[Job]:
        """Declare an actor with a longer sleep in each of many queues; only questions about many queues need them."""
        return [self.declare(self._long_nap_body, f"in_{lane}", queue_name=lane) for lane in LANES]

    def fill(self, messages: Iterable["Message[Any]"]) -> None:
        """Send many messages, as fast as the broker can."""
        for message in messages:
            self.broker.enqueue(message)

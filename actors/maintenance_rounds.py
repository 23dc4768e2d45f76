"""Sends `try_schedule` from a worker while no scheduler process leads.

In the flow: a thread of each worker process checks for a leader once an interval; a lock lets one of them send. So an
application without schedulers also gets the sweep and the revival of the watch. If the thread's process dies, another
worker sends in the next interval. If all schedulers die, their leadership expires and the workers take over.
"""

import threading
from typing import Any, cast

import redis
from dramatiq import Broker, Message, Worker
from dramatiq.middleware import Middleware

from ..configs.logger import Logger
from ..scheduler.model.errors import QueueUnavailable
from ..scheduler.queue import ExecutionQueueService

log = Logger(__name__)
LOCK = "round"
LOCK_SHARE = 0.9
"""The lock's lifetime as a share of the interval: the lock expires before the same worker checks again."""


class Rounds(Middleware):
    """Sends `try_schedule` while nobody leads."""

    def __init__(self, queue: ExecutionQueueService, *, interval_seconds: float) -> None:
        self._queue = queue
        self._interval_seconds = interval_seconds
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def after_worker_boot(self, broker: Broker, worker: Worker) -> None:
        """Start the thread."""
        self._stopped.clear()
        self._thread = threading.Thread(target=self._run, args=(broker,), name="bandmaster-rounds", daemon=True)
        self._thread.start()

    def before_worker_shutdown(self, broker: Broker, worker: Worker) -> None:
        """Stop the thread, without waiting for a round that hangs in Redis."""
        self._stopped.set()

    def _run(self, broker: Broker) -> None:
        while not self._stopped.wait(self._interval_seconds):
            try:
                self.round(broker)
            except (QueueUnavailable, redis.RedisError) as error:
                log.warning("round_failed", error=str(error))
            except Exception:  # the loop must outlive any one round: the repairs depend on it
                log.exception("round_failed")

    def round(self, broker: Broker) -> bool:
        """Send `try_schedule`, if no scheduler leads and no other worker has sent it in this interval.

        Returns:
            Whether it was sent.
        """
        scripts = self._queue.scripts
        if self._queue.views.leader() is not None:
            return False
        lock_ms = max(1, int(self._interval_seconds * 1000 * LOCK_SHARE))
        if not scripts.client.set(scripts.keys.lock(LOCK), "1", nx=True, px=lock_ms):
            return False
        not_after_ms = self._queue.views.server_time_ms() + lock_ms
        actor = cast("Any", broker).get_actor("try_schedule")
        tick: Message[None] = actor.message(not_after_ms=not_after_ms)
        broker.enqueue(tick)  # on this broker: an actor sends by the one that it was declared on
        return True

"""An `ExecutionQueueService` whose clock a test turns, so that leases and stale timeouts run out without waiting."""

from collections.abc import Mapping

import redis
from model.clock import Clock, turned_includes

from bandmaster.scheduler.engine.engine import Engine
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.transport.scripts import Scripts

ROUND_MS = 10_000


class TurnedQueue(ExecutionQueueService):
    """The same scripts, with one line of the clock replaced."""

    def __init__(self, client: redis.Redis, replaced_includes: Mapping[str, str] | None = None) -> None:
        super().__init__(client)
        includes = turned_includes() | {**(replaced_includes or {})}
        Engine.__init__(self, Scripts(client, replaced_includes=includes))
        self.clock = Clock(client, self.scripts.keys)

    def let_time_pass(self, seconds: int) -> None:
        """With the periodic rounds that a scheduler makes."""
        for _ in range(0, seconds * 1000, ROUND_MS):
            self.clock.turn(ROUND_MS)
            self.maintenance.promote()
            self.maintenance.reap()

"""Plans schedules from a worker while no scheduler process leads, for an application of workers alone.

In the flow: the heartbeat calls this in each round; a lock lets one of the workers plan. Occurrences are parked before
they are due, at least a minute as a rule, so a round each ten seconds is enough. If the process dies here, another
worker plans once the lock is over.
"""

from typing import Final

from ...scheduler.engine.engine import Engine
from ...scheduler.planning import Planner

LOCK: Final = "planning"
LOCK_MS: Final = 4_000
"""Shorter than a round, so that each round of one worker or another plans."""


class Planning:
    """The planning, shared among workers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._planner = Planner(engine.schedules)

    def round(self) -> bool:
        """Plan, if nobody leads and no other worker has just planned.

        Returns:
            Whether this worker did.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if self._engine.views.leader() is not None:
            return False
        look_ms = self._engine.schedules.next_look_ms()
        if look_ms is None or look_ms > self._engine.schedules.server_time_ms():
            return False
        scripts = self._engine.scripts
        if not scripts.client.set(scripts.keys.lock(LOCK), "1", nx=True, px=LOCK_MS):
            return False
        self._planner.round()
        return True

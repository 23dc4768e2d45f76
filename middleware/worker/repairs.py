"""Expires executions that waited too long, for an application of workers without a scheduler process.

In the flow: the heartbeat calls this in each round; every ten minutes one of all workers does it. Due executions and
lost grants need no such upkeep, since every exchange promotes and reaps. If the process dies here, another worker does
it next time.
"""

import time
from typing import Final

from ...scheduler.engine.engine import Engine

FIRST_AFTER_SECONDS: Final = 60.0
INTERVAL_SECONDS: Final = 600
LOCK: Final = "upkeep"


class Repairs:
    """The slow repairs, shared among workers."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due = time.monotonic() + FIRST_AFTER_SECONDS

    def round(self) -> bool:
        """Expire them, if that is due and no other worker has done it.

        Returns:
            Whether this worker did it.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        if time.monotonic() < self._due:
            return False
        self._due = time.monotonic() + INTERVAL_SECONDS
        scripts = self._engine.scripts
        if not scripts.client.set(scripts.keys.lock(LOCK), "1", nx=True, ex=INTERVAL_SECONDS * 9 // 10):
            return False
        self._engine.maintenance.sweep()
        return True

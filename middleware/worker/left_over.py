"""Finds lanes whose queue has no gated actor any more, so that their executions run and their ends are told.

In the flow: when they start and every few seconds, since older producers may still park, consumers check whether their
queue's lane has executions, or its outbox has ends. If so, the queue is a lane of this process from then on, under its
limits. A move of the executions into the list would not do: workers of the older release would park them again. Nothing
is written here, so nothing is lost if the process dies.
"""

import threading
import time
from typing import Final

from ...configs.logger import Logger
from ...scheduler.model.errors import QueueUnavailable
from ...scheduler.views import Views
from ..intake.gated_actors import GatedActors

log = Logger(__name__)
LOOK_SECONDS: Final = 10.0


class LeftOver:
    """Looks for such lanes. Safe to share between threads."""

    def __init__(self, views: Views, gated: GatedActors) -> None:
        self._views = views
        self._gated = gated
        self._due: dict[str, float] = {}
        self._turn = threading.Lock()

    def look(self, queue_name: str) -> bool:
        """Whether a queue that was no lane has executions, or ends to be told; checks every few seconds at most."""
        if queue_name in self._gated.lanes or time.monotonic() < self._due.get(queue_name, 0.0):
            return False
        # One at a time: a hundred queues would take a hundred connections. A consumer without a turn checks next round.
        if not self._turn.acquire(blocking=False):
            return False
        try:
            self._due[queue_name] = time.monotonic() + LOOK_SECONDS
            executions, untold = self._views.lane_size(queue_name), self._views.untold(queue_name)
        except QueueUnavailable as error:
            # A queue of ungated actors must work without our keys, even without permission to read them.
            log.debug("left_over_unknown", queue=queue_name, error=str(error))
            return False
        finally:
            self._turn.release()
        if executions or untold:
            self._gated.adopt(queue_name)
            log.warning("lane_left_over", lane=queue_name, executions=executions, untold=untold)
        return executions + untold > 0

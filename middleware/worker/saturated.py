"""Promotes what is due in a worker process whose threads are all taken; an idle one's pump does so by itself.

In the flow: a pump without a free thread sleeps for up to a second, without an ear for what is scheduled meanwhile. So
another thread waits for that, on one more connection while the process is saturated, and calls nobody while it is not.
What is promoted in time stands at its place before the next thread is free, and other workers are woken for it. If the
process dies here, the leader promotes, or any other worker.
"""

from typing import Final

from ...scheduler.engine.engine import Engine
from ...scheduler.process.promoting import Promoting
from ..grants.permits import Permits
from ..round_thread import RoundThread

NAME: Final = "bandmaster-promoting"
LONGEST_WAIT_SECONDS: Final = 0.5
"""A stop of the worker waits for that, perhaps."""


class Saturated(RoundThread):
    """The thread of one worker process."""

    def __init__(self, engine: Engine, permits: Permits) -> None:
        """Prepare the thread without starting it; where no worker runs, there are no permits, and it does nothing."""
        promoting = Promoting(
            engine.scripts, lambda: engine.maintenance if permits.total > 0 and permits.free <= 0 else None
        )
        super().__init__(NAME, lambda: promoting.round(LONGEST_WAIT_SECONDS))

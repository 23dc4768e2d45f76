"""``InBackground``: runs one thing at a time in a thread of its own, for callers that never wait for it.

In the flow: what is shown beside the figures of Redis is asked of the ledger here. If its database hangs, this thread
does, and no other: what is to begin meanwhile does not. A thread ends with the process, whatever it does.
"""

import threading
from collections.abc import Callable

from ..configs.logger import Logger

_log = Logger(__name__)


class InBackground:
    """A place for one thing that runs. Safe to share between threads."""

    def __init__(self, name: str) -> None:
        """Args: `name`, of the thread, and of its work in the log."""
        self._name = name
        self._turn = threading.Lock()

    @property
    def is_busy(self) -> bool:
        """Whether something runs."""
        return self._turn.locked()

    def begin(self, work: Callable[[], None]) -> bool:
        """Begin it, unless something runs still.

        Args:
            work: An error that it raises is logged, and the next may begin.

        Returns:
            Whether it has begun.
        """
        if not self._turn.acquire(blocking=False):
            return False
        try:
            threading.Thread(target=self._run, args=(work,), name=self._name, daemon=True).start()
        except RuntimeError:
            # The process may have no more threads just now.
            self._turn.release()
            raise
        return True

    def _run(self, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  # nobody waits for it, so whatever it is would be heard of nowhere
            _log.error("background_failed", exc_info=error, work=self._name)
        finally:
            self._turn.release()

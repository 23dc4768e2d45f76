"""``LedgerWatch``: what there is to say of the ledger, for whoever is shown the queue.

In the flow: showing the queue asks here, and never waits for it: the ledger is asked in a thread of its own, every few
seconds while somebody looks, and told is what was so last. A database that hangs holds up that one thread, and is told
of as one that does not answer.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from ..configs.logger import Logger
from ..ledger.queries.asking import Asking
from ..ledger.queries.judging import judged_ledger
from ..scheduler.model.errors import QueueUnavailable
from ..scheduler.transport.scripts import Scripts
from ..scheduler.verdicts import Verdict, on_ledger
from .in_background import InBackground

_log = Logger(__name__)
FRESH_SECONDS: Final = 5.0
USABLE_SECONDS: Final = 60.0
LATE_SECONDS: Final = 2.0
"""A ledger that has not answered for so long does not answer."""


class LedgerWatch:
    """Watches one ledger. Safe to share between threads."""

    def __init__(self, asking: Asking, scripts: Scripts, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Makes no call.

        Args:
            asking: The ledger.
            scripts: Of the queue whose history it is.
            clock: Seconds that only grow.
        """
        self._asking = asking
        self._scripts = scripts
        self._clock = clock
        self._lock = threading.Lock()
        self._background = InBackground("ledger-watch")
        self._asked_at = self._answered_at = float("-inf")
        self._told: list[Verdict] = []

    def verdicts(self) -> list[Verdict]:
        """What was so when it was last asked; nothing, if that was too long ago."""
        now = self._clock()
        with self._lock:
            if now - self._asked_at >= FRESH_SECONDS and self._background.begin(self._ask):
                self._asked_at = now
            if self._background.is_busy and now - self._asked_at >= LATE_SECONDS:
                return list(on_ledger(is_read=False, is_written=False, behind=None, unwritten=None))
            return self._told if now - self._answered_at < USABLE_SECONDS else []

    def _ask(self) -> None:
        try:
            told = self._look()
        except QueueUnavailable as error:
            _log.debug("ledger_not_watched", problem=str(error))
            return
        with self._lock:
            self._told, self._answered_at = told, self._clock()

    def _look(self) -> list[Verdict]:
        file = self._asking.database.file
        if file is not None and not file.exists():
            return []  # nobody keeps a history
        return judged_ledger(self._asking.progress, self._scripts).verdicts

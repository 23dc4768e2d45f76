"""``Rates``: how fast each action's executions end, for an estimate of when one that waits may begin.

In the flow: showing an execution asks here, and never waits for it: the ledger is asked in a thread of its own, a few
times a minute, and until it has answered there is no estimate. If its database hangs, that thread does, and no other.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from ..configs.logger import Logger
from ..ledger.errors import LedgerError
from ..ledger.queries.asking import Asking
from ..ledger.queries.rates import ended_since
from ..scheduler.model.errors import QueueUnavailable

_log = Logger(__name__)
WINDOW_SECONDS: Final = 600
FRESH_SECONDS: Final = 10.0
USABLE_SECONDS: Final = 60.0


class Rates:
    """The rates of one queue. Safe to share between threads."""

    def __init__(
        self, asking: Asking, now_ms: Callable[[], int], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Makes no call.

        Args:
            asking: The ledger.
            now_ms: The time of the Redis server's clock, by which ends are stamped.
            clock: Seconds that only grow.
        """
        self._asking = asking
        self._now_ms = now_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._ended: Mapping[str, int] = {}
        self._asked_at = self._answered_at = float("-inf")
        self._is_asking = False

    def per_second(self, action: str) -> float | None:
        """How many executions of an action ended a second in the last ten minutes; None: not known, or none did."""
        now = self._clock()
        with self._lock:
            is_due = not self._is_asking and now - self._asked_at >= FRESH_SECONDS
            if is_due:
                self._is_asking, self._asked_at = True, now
            ended = self._ended.get(action, 0) if now - self._answered_at < USABLE_SECONDS else 0
        if is_due:
            threading.Thread(target=self._ask, name="rates", daemon=True).start()
        return ended / WINDOW_SECONDS if ended else None

    def _ask(self) -> None:
        ended: Mapping[str, int] | None = None
        try:
            since_ms = self._now_ms() - WINDOW_SECONDS * 1000
            with self._asking.reading() as connection:
                ended = ended_since(connection, since_ms)
        except (LedgerError, QueueUnavailable) as error:
            _log.debug("rates_not_read", problem=str(error))
        with self._lock:
            self._is_asking = False
            if ended is not None:
                self._ended, self._answered_at = ended, self._clock()

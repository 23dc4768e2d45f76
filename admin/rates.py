"""``Rates``: how fast each action's executions begin, for an estimate of when one that waits may.

In the flow: showing an execution asks here, and never waits for it: the ledger is asked in a thread of its own, for one
action at a time, and until it has answered there is no estimate; without a ledger there is none at all. If its database
hangs, that thread does, and no other.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

from ..configs.logger import Logger
from ..ledger.errors import LedgerError
from ..ledger.queries.asking import Asking
from ..ledger.queries.rates import grants_per_second
from ..scheduler.model.errors import QueueUnavailable
from .in_background import InBackground

_log = Logger(__name__)
WINDOW_SECONDS: Final = 600
FRESH_SECONDS: Final = 10.0
USABLE_SECONDS: Final = 60.0


@dataclass(slots=True)
class _Rate:
    """What is known of one action."""

    asked_at: float = float("-inf")
    answered_at: float = float("-inf")
    per_second: float | None = None


class Rates:
    """The rates of one queue. Safe to share between threads."""

    def __init__(
        self, asking: Asking, now_ms: Callable[[], int], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Makes no call.

        Args:
            asking: The ledger.
            now_ms: The time of the Redis server's clock, by which grants are stamped.
            clock: Seconds that only grow.
        """
        self._asking = asking
        self._now_ms = now_ms
        self._clock = clock
        self._lock = threading.Lock()
        self._rates: dict[str, _Rate] = {}
        self._background = InBackground("rates")

    def per_second(self, action: str) -> float | None:
        """How many executions of an action began a second in the last ten minutes; None: not known, or none did."""
        now = self._clock()
        with self._lock:
            rate = self._rates.get(action)
            is_due = rate is None or now - rate.asked_at >= FRESH_SECONDS
            if is_due and self._background.begin(partial(self._ask, action)):
                self._rates = {name: each for name, each in self._rates.items() if now - each.asked_at < USABLE_SECONDS}
                self._rates.setdefault(action, _Rate()).asked_at = now
            return rate.per_second if rate is not None and now - rate.answered_at < USABLE_SECONDS else None

    def _ask(self, action: str) -> None:
        try:
            now_ms = self._now_ms()
            with self._asking.reading() as connection:
                per_second = grants_per_second(connection, action, now_ms=now_ms, window_ms=WINDOW_SECONDS * 1000)
        except (LedgerError, QueueUnavailable) as error:
            _log.debug("rates_not_read", problem=str(error))
            return
        with self._lock:
            if (rate := self._rates.get(action)) is not None:
                rate.answered_at, rate.per_second = self._clock(), per_second

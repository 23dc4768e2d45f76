"""Retries calls to the API server with growing delays: the only place that waits between two tries.

In the flow: creating, deleting and acknowledging pass each temporary failure to a ``Patience`` of their own, which
waits, or says that the time is over. Delays double, have a random part so that many workers don't retry at the same
moment, and are never shorter than the server asked for. urllib3 would heed ``Retry-After`` for GET only, so its own
retries are off. A process that dies while it waits loses nothing: every call may be begun again.
"""

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from ...configs.logger import Logger
from .faults import ApiError

log = Logger(__name__)

T = TypeVar("T")
_FIRST_SECONDS: Final = 0.1
_LONGEST_SECONDS: Final = 5.0


class Patience:
    """The time budget for the retries of one operation.

    Args:
        budget_seconds: Counted from now on; a wait that would end later does not begin.
    """

    def __init__(self, budget_seconds: float) -> None:
        self._until = time.monotonic() + budget_seconds
        self._delay = _FIRST_SECONDS

    def wait(self, error: ApiError) -> bool:
        """Wait before the next try. False: don't try again, since it would not help or be too late."""
        if not error.passing:
            return False
        delay = self.delay(error)
        if time.monotonic() + delay > self._until:
            return False
        log.info("api_call_repeated", fault=error.fault.name, delay_seconds=round(delay, 3))
        time.sleep(delay)
        return True

    def delay(self, error: ApiError | None) -> float:
        """How long to wait after one more failure, seconds."""
        spread = self._delay * random.uniform(0.5, 1.0)
        self._delay = min(self._delay * 2, _LONGEST_SECONDS)
        return max(spread, (error.retry_after_seconds if error is not None else None) or 0.0)

    def reset(self) -> None:
        """Begin with short delays again, after a success."""
        self._delay = _FIRST_SECONDS


def patiently(budget_seconds: float, call: Callable[[], T]) -> T:
    """Retry a call until it succeeds or the budget is used up; only for calls that may be repeated.

    Raises:
        ApiError: The last failure.
    """
    patience = Patience(budget_seconds)
    while True:
        try:
            return call()
        except ApiError as error:
            if not patience.wait(error):
                raise

"""How long, and how, a call to the API server is repeated: the only place that waits between two tries.

In the flow: creating, deleting and acknowledging pass each passing failure to a ``Patience`` of their own, which waits
or says that it is over. Delays double, are spread by chance so that many workers don't return at the same moment, and
are never shorter than what the server asked for; urllib3 would heed ``Retry-After`` for GET only, so nothing is left to
it. A process that dies while it waits has lost nothing: whatever it wanted to do may be begun again.
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
    """A budget of time for one thing to be done.

    Args:
        budget_seconds: From now on; no wait begins that would end later.
    """

    def __init__(self, budget_seconds: float) -> None:
        self._until = time.monotonic() + budget_seconds
        self._delay = _FIRST_SECONDS

    def wait(self, error: ApiError) -> bool:
        """Wait before the next try. False: there is to be none, for it would not help or come too late."""
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
        """Begin with short delays again: something succeeded."""
        self._delay = _FIRST_SECONDS


def patiently(budget_seconds: float, call: Callable[[], T]) -> T:
    """Call until it succeeds or patience is over; only for what may be done twice.

    Raises:
        ApiError: The last one.
    """
    patience = Patience(budget_seconds)
    while True:
        try:
            return call()
        except ApiError as error:
            if not patience.wait(error):
                raise

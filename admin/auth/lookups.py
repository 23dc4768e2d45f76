"""``Lookups``: threads in which tokens are looked up, and nothing else is done.

In the flow: a database that hangs holds up no other part. Those that nobody knows yet have threads apart from those
that were valid before: however many strangers come, callers who are known do not wait for them.
"""

import asyncio
import math
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import BoundedSemaphore
from typing import Any, Final, ParamSpec, TypeVar

from ..errors import Refused, rate_limited

P = ParamSpec("P")
T = TypeVar("T")
_AGAIN_SECONDS: Final = 1


class Lookups:
    """Some threads, and how many may wait for them, and how long."""

    def __init__(self, threads: int, *, most: int, patience_seconds: float = math.inf) -> None:
        """Args:
        threads: How many look-ups are made at once.
        most: How many there may be, with those that wait.
        patience_seconds: One that has waited longer is not made.
        """
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="token")
        self._places = BoundedSemaphore(most)
        self._patience_seconds = patience_seconds

    async def run(self, look: Callable[P, T], *given: P.args, **named: P.kwargs) -> T:
        """Look a token up.

        Raises:
            Refused: If too many wait.
        """
        if not self._places.acquire(blocking=False):
            raise _too_many()
        ends = time.monotonic() + self._patience_seconds

        def look_in_time() -> T:
            if time.monotonic() > ends:
                raise _too_many()
            return look(*given, **named)

        looking = self._threads.submit(look_in_time)
        # With its end, and not with that of the request: a caller that goes away makes no room.
        looking.add_done_callback(self._end)
        return await asyncio.wrap_future(looking)

    def _end(self, _: "Future[Any]") -> None:
        self._places.release()


def _too_many() -> Refused:
    return rate_limited("too many tokens are being looked up", _AGAIN_SECONDS, {})

"""``Counter``: counts in Redis what all processes together take of quotas.

In the flow: a process takes some at once and hands them out by itself, so that few requests ask Redis. Three plain
commands in one transaction do it. A count begins with the first that is taken and is over a minute later, by the
server's clock; if that goes back meanwhile, it is over a minute after the next. If the process dies with some in hand,
or a reply is lost, they count as taken. If Redis does not answer at once, each process counts alone, and nobody waits
for Redis again before it has answered a look in the background.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final

from ...configs.logger import Logger
from ...scheduler.model.errors import QueueUnavailable
from ...scheduler.transport.scripts import Scripts

_log = Logger(__name__)
WINDOW_SECONDS: Final = 60
ANSWER_SECONDS: Final = 0.5
LOOK_SECONDS: Final = 1.0
LOOK: Final = "look"
"""The count to which a look in the background adds nothing."""


@dataclass(frozen=True, slots=True)
class Counted:
    """A count after something was added."""

    total: int
    left_seconds: float
    """Until it is over."""


class Counter:
    """The counts of one queue's server. To be used from one event loop."""

    def __init__(self, scripts: Scripts, *, clock: Callable[[], float] = time.monotonic) -> None:
        """Makes no call. `clock`: seconds that only grow."""
        self._scripts = scripts
        self._clock = clock
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="quotas")
        self._is_away = False
        self._is_looking = False
        self._looked_at = float("-inf")

    async def add(self, digest: str, count: int) -> Counted | None:
        """Add to a count; None: Redis does not answer.

        Args:
            digest: Of whose count it is.
            count: How many are taken.
        """
        if self._is_away:
            self._look_again()
            return None
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._threads, self._add, digest, count)
        except (QueueUnavailable, TimeoutError) as error:
            if not self._is_away:
                self._is_away = True
                _log.warning("quotas_counted_alone", problem=str(error) or f"no answer within {ANSWER_SECONDS:g} s")
            return None

    def _look_again(self) -> None:
        if not self._is_looking and self._clock() - self._looked_at >= LOOK_SECONDS:
            self._is_looking, self._looked_at = True, self._clock()
            self._threads.submit(self._look)

    def _look(self) -> None:
        try:
            # A write: a server may answer, and yet refuse these.
            self._add(LOOK, 0)
        except QueueUnavailable as error:
            _log.debug("quotas_still_alone", problem=str(error))
        else:
            self._is_away = False
            _log.info("quotas_counted_together")
        finally:
            self._is_looking = False

    def _add(self, digest: str, count: int) -> Counted:
        name = self._scripts.keys.quota(digest)

        def add() -> Counted:
            pipeline: Any = self._scripts.client.pipeline(transaction=True)
            pipeline.incrby(name, count)
            # Only ever sooner: this begins the minute, and leaves one that has begun alone.
            pipeline.pexpire(name, WINDOW_SECONDS * 1000, lt=True)
            pipeline.pttl(name)
            total, _, left_ms = pipeline.execute()
            return Counted(total, left_ms / 1000)

        return self._scripts.repeat(add, ends=time.monotonic() + ANSWER_SECONDS)

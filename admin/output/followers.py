"""``Followers``: how many follow what executions print, and the threads that look and read for them.

In the flow: all of them together take no thread and no turn from other routes. If Redis hangs, followers hear nothing
new of states; if a cluster hangs, nothing of what is printed; and both last no longer than that.
"""

import threading
from collections.abc import AsyncGenerator
from typing import Final

from ...k8s.errors import PodsUnavailable
from ...scheduler.model.errors import QueueUnavailable
from ..lookups import Lookups
from ..places import Places
from .reader import Open, Reader

MOST: Final = 64
"""How many follow at one process."""
MOST_OF_TOKEN: Final = 16
"""How many of them with one token."""


class Followers:
    """The followers of one process."""

    def __init__(self) -> None:
        """Nobody follows."""
        self.looks = Lookups(4, most=4 * MOST, refusal=lambda: QueueUnavailable("too many wait for it already"))
        """Of followers, at their executions."""
        self.tails = Lookups(
            8, most=64, patience_seconds=5, refusal=lambda: PodsUnavailable("too many wait for it already")
        )
        """Of those who ask for the end of an output once."""
        self.places = Places(MOST, MOST_OF_TOKEN)
        self._lock = threading.Lock()
        self._reading = 0

    async def placed(self, token_id: str, frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """Yield what is sent to one of them, who is one of them until that ends.

        Raises:
            Refused: If there are too many.
        """
        # A thread that a cluster holds keeps the place of a follower that has gone.
        with self.places.place(token_id, kept=self._reading):
            try:
                async for each in frames:
                    yield each
            finally:
                await frames.aclose()

    def read(self, opened: Open) -> Reader:
        """Read an output for one of them."""
        with self._lock:
            self._reading += 1
        return Reader(opened, self._end)

    def _end(self) -> None:
        with self._lock:
            self._reading -= 1

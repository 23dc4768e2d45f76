"""``Followers``: how many follow what executions print, and the threads that look and read for them.

In the flow: all of them together take no thread and no turn from other routes. If Redis hangs, followers hear nothing
new of states; if a cluster hangs, nothing of what is printed; and both last no longer than that.
"""

import threading
from collections import Counter
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from typing import Final

from ...k8s.errors import PodsUnavailable
from ...scheduler.model.errors import QueueUnavailable
from ..errors import Refused
from ..lookups import Lookups
from .reader import Open, Reader

MOST: Final = 64
"""How many follow at one process."""
MOST_OF_TOKEN: Final = 16
"""How many of them with one token."""
_AGAIN_SECONDS: Final = 5


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
        self._lock = threading.Lock()
        self._of_token = Counter[str]()
        self._reading = 0

    async def placed(self, token_id: str, frames: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """Yield what is sent to one of them, who is one of them until that ends.

        Raises:
            Refused: If there are too many.
        """
        with self._place(token_id):
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

    @contextmanager
    def _place(self, token_id: str) -> Generator[None]:
        with self._lock:
            # A thread that a cluster holds keeps the place of a follower that has gone.
            if max(self._of_token.total(), self._reading) >= MOST:
                raise _too_many(f"{MOST} follow at this process already")
            if self._of_token[token_id] >= MOST_OF_TOKEN:
                raise _too_many(f"{MOST_OF_TOKEN} follow with this token already")
            self._of_token[token_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_token[token_id] -= 1
                if not self._of_token[token_id]:
                    del self._of_token[token_id]

    def _end(self) -> None:
        with self._lock:
            self._reading -= 1


def _too_many(detail: str) -> Refused:
    return Refused(429, "too_many_followers", detail, headers={"Retry-After": str(_AGAIN_SECONDS)})

"""Limits how many of Dramatiq's lists a process reads or waits for at once, whatever its number of queues.

In the flow: a client's pool has a hundred connections by default, and each list that is looked at or waited for takes
one meanwhile; the rest is for sends, settlements and the pump. Nothing is kept here, so nothing is lost if the process
dies.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import redis

from .wake_lists import blocking_seconds

MOST_WAITED_FOR: Final = 8
MOST_LOOKED_AT: Final = 16
MOST_LOOKED_AT_OF_LANES: Final = 4
"""Of these lists only plain producers' messages come, so fewer connections are kept for them."""
LONGEST_TURN_WAIT_SECONDS: Final = 1.0


class DramatiqLists:
    """The lists of one namespace, for the consumers of one process."""

    def __init__(self, client: "redis.Redis", namespace: str) -> None:
        self._client: Any = client  # redis-py types every reply as a union with its async twin
        self._namespace = namespace
        self._waits = threading.BoundedSemaphore(MOST_WAITED_FOR)
        self._turns = threading.BoundedSemaphore(MOST_LOOKED_AT)
        self._turns_of_lanes = threading.BoundedSemaphore(MOST_LOOKED_AT_OF_LANES)

    def wait(self, queue_name: str, seconds: float) -> bool:
        """Wait until a list is not empty, for so long at most, and take nothing from it.

        Returns:
            Whether it was waited for; False if too many are already.
        """
        if not self._waits.acquire(blocking=False):
            return False
        try:
            key = f"{self._namespace}:{queue_name}"
            self._client.blmove(key, key, blocking_seconds(self._client, seconds), "LEFT", "LEFT")
        finally:
            self._waits.release()
        return True

    @contextmanager
    def turn(self, *, of_lane: bool) -> Generator[bool]:
        """A consumer's turn to look at its list.

        Args:
            of_lane: It is a lane's, or a lane's delay queue.

        Yields:
            Whether it has one; if not, as while the server hangs, it goes round and asks again.
        """
        turns = self._turns_of_lanes if of_lane else self._turns
        has_turn = turns.acquire(timeout=LONGEST_TURN_WAIT_SECONDS)
        try:
            yield has_turn
        finally:
            if has_turn:
                turns.release()

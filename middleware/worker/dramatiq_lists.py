"""Limits how many of Dramatiq's lists a process reads or waits on at once, whatever its number of queues.

In the flow: a client's connection pool has a hundred connections by default, and each read of a list or wait on it
takes one. The limits leave connections for sends, settlements and the pump. Nothing is kept here, so nothing is lost if
the process dies.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import redis

from ...scheduler.transport.blocking import blocking_seconds

MOST_WAITED_FOR: Final = 8
MOST_LOOKED_AT: Final = 16
MOST_LOOKED_AT_OF_LANES: Final = 4
"""Only plain producers' messages come through the lists of lanes, so these get fewer connections."""
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
        """Wait until a list is not empty, for at most `seconds`, and take nothing from it.

        Returns:
            Whether it waited; False if too many threads wait on lists already.
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
        """A context for a consumer's turn to read its list.

        Args:
            of_lane: Whether the list belongs to a lane, or to a lane's delay queue.

        Yields:
            Whether the consumer got a turn. If not, as while the server hangs, it tries again in its next round.
        """
        turns = self._turns_of_lanes if of_lane else self._turns
        has_turn = turns.acquire(timeout=LONGEST_TURN_WAIT_SECONDS)
        try:
            yield has_turn
        finally:
            if has_turn:
                turns.release()

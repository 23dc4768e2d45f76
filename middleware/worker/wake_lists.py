"""Waits on the wake lists of all of a worker's lanes at once, on one connection.

In the flow: scripts push a token to the wake list of a lane from which an execution may be admitted; our producers push
one that points to the lane's Dramatiq list. The process that pops a token looks there at once. A lost token, as of a
process that dies, costs at most a second, since no wait is longer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import redis

from ...configs.logger import Logger
from ...scheduler.transport.blocking import pop_first
from ...scheduler.transport.scripts import Scripts

log = Logger(__name__)
LIST_TOKEN: Final = b"list"
"""The token on a lane's wake list that points to its Dramatiq list; the scripts' tokens point only to the lane."""
MAX_LIST_TOKENS: Final = 64


@dataclass(frozen=True, slots=True)
class WakeToken:
    """A token that was popped."""

    lane: str
    value: bytes

    @property
    def points_to_list(self) -> bool:
        """Whether to read the lane's Dramatiq list, too, and not only to ask for grants."""
        return self.value == LIST_TOKEN


class WakeLists:
    """The wake lists on one server. Safe to share between threads."""

    def __init__(self, scripts: Scripts) -> None:
        self._scripts = scripts
        self._keys = scripts.keys

    def wait(self, lanes: Sequence[str], seconds: float) -> WakeToken | None:
        """Wait on the lists of these lanes for a token, for at most `seconds`; None if none came.

        Raises:
            QueueUnavailable: If Redis did not answer.
        """
        lists = {self._keys.wake(lane): lane for lane in lanes}
        client = self._scripts.client
        popped = self._scripts.repeat(lambda: pop_first(client, list(lists), seconds))
        return WakeToken(lists[popped[0].decode()], popped[1]) if popped else None

    def push_back(self, token: WakeToken) -> None:
        """Put a token back for a process that can use it.

        Raises:
            redis.RedisError: If Redis did not answer.
        """
        self._scripts.client.lpush(self._keys.wake(token.lane), token.value)

    def point_to_list(self, lane: str) -> None:
        """Wake a worker that consumes a lane, since its Dramatiq list has a message."""
        wake = self._keys.wake(lane)
        try:
            # No script pops tokens that nobody waits for, so their number is bounded here.
            pipeline = self._scripts.client.pipeline(transaction=False)
            pipeline.rpush(wake, LIST_TOKEN).ltrim(wake, 0, MAX_LIST_TOKENS - 1).execute()
        except redis.RedisError as error:
            log.debug("list_token_lost", lane=lane, error=str(error))  # it costs a second; the message is sent

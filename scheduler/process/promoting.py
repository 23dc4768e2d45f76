"""``Promoting``: sleeps until the next execution is due, and promotes it in that moment, not at the next tick.

In the flow: a thread of the scheduler process, for as long as it leads, and of a worker process whose threads are all
taken; an idle worker's own calls do the same. Who sleeps here waits on the list `due`, on which a script pushes a token
when something is scheduled before all else, so that the wait for a later one ends. If the process dies, or took a token
and died, the ticks and every worker's calls promote as well, within about a second. A promotion may be repeated, by
anybody.
"""

import threading
import time
from collections.abc import Callable
from typing import Any, Final

import redis

from ...configs.logger import Logger
from ..engine.maintenance import Maintenance
from ..model.errors import NotLeader, QueueUnavailable
from ..transport.blocking import EXACT_BELOW_SECONDS, blocking_seconds, pop_first
from ..transport.scripts import Scripts

log = Logger(__name__)
LOOKS_AGAIN_SECONDS: Final = 10.0
"""It asks again after so long, though it was told of nothing: a token may be lost with the process that took it."""
NOT_MINE_SECONDS: Final = 0.25
"""How often it looks whether it has to promote; that calls nobody."""
FAILED_PAUSE_SECONDS: Final = 1.0
_SHORTEST_SECONDS: Final = 0.002


class Promoting:
    """Promotes on one server while it has to. For one thread."""

    def __init__(self, scripts: Scripts, repairs: Callable[[], Maintenance | None]) -> None:
        """Prepare it without a call.

        Args:
            scripts: The scripts of the queue.
            repairs: Returns what to promote with, under a leader's epoch perhaps; None: others promote.
        """
        self._scripts = scripts
        self._repairs = repairs
        self._client: Any = scripts.client
        self._list = scripts.keys.named("due")
        self._rests_until = 0.0

    def round(self, longest_seconds: float = LOOKS_AGAIN_SECONDS) -> None:
        """Promote what is due, or sleep until something is, or is scheduled.

        Args:
            longest_seconds: No sleep is longer.

        Raises:
            NotLeader: If another process leads.
            QueueUnavailable: If Redis did not answer.
            redis.RedisError: Likewise.
        """
        repairs = self._repairs()
        if repairs is None:
            self._rests_until = 0.0
            time.sleep(NOT_MINE_SECONDS)
            return
        rest_seconds = self._rests_until - time.monotonic()
        if rest_seconds > 0:
            self._rest(max(_SHORTEST_SECONDS, rest_seconds), longest_seconds)
            return
        wait_ms = repairs.promote_until_next()
        known_seconds = LOOKS_AGAIN_SECONDS if wait_ms is None else wait_ms / 1000
        self._rests_until = time.monotonic() + min(LOOKS_AGAIN_SECONDS, known_seconds)

    def _rest(self, seconds: float, longest_seconds: float) -> None:
        if seconds >= EXACT_BELOW_SECONDS:
            # The server ends such a wait late, by its own clock: the rest is waited for exactly.
            longest_seconds = min(longest_seconds, seconds - EXACT_BELOW_SECONDS / 2)
            token = self._client.blpop([self._list], timeout=blocking_seconds(self._client, longest_seconds))
        else:
            token = pop_first(self._client, [self._list], min(seconds, longest_seconds))
        if token is not None:
            self._rests_until = 0.0

    def run(self, stopped: threading.Event) -> None:
        """Go round until it is stopped; a round that fails is logged."""
        while not stopped.is_set():
            try:
                self.round()
            except NotLeader:
                stopped.wait(NOT_MINE_SECONDS)  # its own deadline tells it so in a moment
            except (QueueUnavailable, redis.RedisError) as error:
                log.warning("promoting_failed", error=str(error))
                stopped.wait(FAILED_PAUSE_SECONDS)
            except Exception:  # the thread must outlive any one round
                log.exception("promoting_failed")
                stopped.wait(FAILED_PAUSE_SECONDS)

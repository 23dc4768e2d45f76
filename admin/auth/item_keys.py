"""``ItemKeys``: the keys of the tokens for items, kept in memory for some seconds.

In the flow: `firing_tokens` asks here for each such token that is sent, on the event loop and before any quota, so a
stranger costs no look at the file. A key that follows another is known within those seconds. What cannot be read is
logged once, until it can be read again, and the last keys stay for half a minute. A process that dies here loses
nothing.
"""

import threading
import time
from collections.abc import Callable
from typing import Final

from ...configs.errors import SettingsError
from ...configs.logger import Logger

KEPT_SECONDS: Final = 3.0
LAST_SECONDS: Final = 30.0
"""A read that fails once makes no program's outcome that of a stranger."""
_log: Final = Logger(__name__)


class ItemKeys:
    """The keys of one API. Safe to share between threads."""

    def __init__(self, read: Callable[[], tuple[bytes, ...]], *, clock: Callable[[], float] = time.monotonic) -> None:
        """Reads nothing.

        Args:
            read: Returns the keys as they are now; it may raise SettingsError.
            clock: Seconds that only grow.
        """
        self._read = read
        self._clock = clock
        self._lock = threading.Lock()
        self._keys: tuple[bytes, ...] = ()
        self._read_at = self._looked_at = float("-inf")
        self._told = ""

    def known(self) -> tuple[bytes, ...]:
        """Return the keys, at most `KEPT_SECONDS` old, or `LAST_SECONDS` if they cannot be read; none: no token is made
        with one."""
        with self._lock:
            now = self._clock()
            if now - self._looked_at >= KEPT_SECONDS:
                self._looked_at = now
                self._look(now)
            return self._keys

    def _look(self, now: float) -> None:
        try:
            self._keys, self._read_at = self._read(), now
        except SettingsError as error:
            if self._told != str(error):
                self._told = str(error)
                _log.warning("item_tokens_not_known", problem=self._told)
            if now - self._read_at >= LAST_SECONDS:
                self._keys = ()
        else:
            self._told = ""

"""``Places``: how many may follow something at one process, in all and with one token.

In the flow: each kind of stream has its own places, and a stream takes one for as long as it lasts. They are counted in
this process alone, so nothing has to be cleared away if it dies.
"""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from .errors import Refused

_AGAIN_SECONDS: Final = 5


class Places:
    """The places of one kind of stream. Safe to share between threads."""

    def __init__(self, most: int, most_of_token: int) -> None:
        """Args: `most`, how many there are; `most_of_token`, how many of them one token may take."""
        self._most = most
        self._most_of_token = most_of_token
        self._lock = threading.Lock()
        self._of_token = Counter[str]()

    @property
    def taken(self) -> int:
        """How many are taken."""
        with self._lock:
            return self._of_token.total()

    @contextmanager
    def place(self, token_id: str, *, kept: int = 0) -> Generator[None]:
        """Take a place until the end of the block.

        Args:
            token_id: With which token.
            kept: How many are at least in use, whoever had them.

        Raises:
            Refused: If there is none.
        """
        with self._lock:
            if max(self._of_token.total(), kept) >= self._most:
                raise _too_many(f"{self._most} follow at this process already")
            if self._of_token[token_id] >= self._most_of_token:
                raise _too_many(f"{self._most_of_token} follow with this token already")
            self._of_token[token_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_token[token_id] -= 1
                if not self._of_token[token_id]:
                    del self._of_token[token_id]


def _too_many(detail: str) -> Refused:
    return Refused(429, "too_many_followers", detail, headers={"Retry-After": str(_AGAIN_SECONDS)})

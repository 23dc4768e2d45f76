"""``Places``: how many may do something that lasts at one process, in all and with one token.

In the flow: each kind of stream has its own places, and so have changes of many; each takes one for as long as it
lasts. They are counted in this process alone, so nothing has to be cleared away if it dies.
"""

import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from .errors import Refused

_AGAIN_SECONDS: Final = 5


class Places:
    """The places of one kind. Safe to share between threads."""

    def __init__(self, most: int, most_of_token: int, *, of: str = "follow", code: str = "too_many_followers") -> None:
        """Args:
        most: How many there are.
        most_of_token: How many of them one token may take.
        of: What is done there.
        code: Of the refusal of one more.
        """
        self._most = most
        self._most_of_token = most_of_token
        self._of = of
        self._code = code
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
                raise self._too_many(f"{self._most} at a time may {self._of} at this process")
            if self._of_token[token_id] >= self._most_of_token:
                raise self._too_many(f"{self._most_of_token} at a time may {self._of} with one token")
            self._of_token[token_id] += 1
        try:
            yield
        finally:
            with self._lock:
                self._of_token[token_id] -= 1
                if not self._of_token[token_id]:
                    del self._of_token[token_id]

    def _too_many(self, detail: str) -> Refused:
        return Refused(429, self._code, detail, headers={"Retry-After": str(_AGAIN_SECONDS)})

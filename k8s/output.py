"""``Piece`` and ``Closing``: what is read of a pod's output, and how its reading is ended from elsewhere.

In the flow: whoever follows an output reads pieces in one thread; another thread closes the reading when nobody wants
it any more, and wakes a reader that waits for a silent program. Nothing is stored here.
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bytes of an output."""

    data: bytes
    position: int
    """How many bytes of the output are before them, with those that were dropped."""

    @property
    def end(self) -> int:
        """The position after them, from which a later reading goes on."""
        return self.position + len(self.data)


class Closable(Protocol):
    """What wakes its reader when it is closed."""

    def close(self) -> None:
        """Stop reading."""
        ...


class Closing:
    """Ends a reading, from any thread, once."""

    def __init__(self) -> None:
        """Nothing is read yet."""
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._held: Closable | None = None

    @property
    def is_closed(self) -> bool:
        """Whether nobody wants to read on."""
        return self._closed.is_set()

    def close(self) -> None:
        """End the reading, also one that waits."""
        with self._lock:
            self._closed.set()
            if self._held is not None:
                self._held.close()

    def wait(self, seconds: float) -> bool:
        """Wait before the next look; whether the reading has to end."""
        return self._closed.wait(seconds)

    @contextmanager
    def holding(self, stream: Closable) -> Generator[None]:
        """While the block runs, closing ends a stream, too; it is closed at the end of the block in any case."""
        with self._lock:
            self._held = stream
            if self._closed.is_set():
                stream.close()
        try:
            yield
        finally:
            with self._lock:
                self._held = None
            stream.close()

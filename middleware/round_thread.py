"""A daemon thread that repeats one task until it is stopped, and can be started again if it dies.

In the flow: any code that finds the thread dead starts it again. A failed round does not end the thread, since leases
and all lanes depend on it. It ends with its process.
"""

import threading
from collections.abc import Callable
from typing import Final

import redis

from ..configs.logger import Logger
from ..scheduler.model.errors import BandmasterError

log = Logger(__name__)
JOIN_SECONDS: Final = 5.0
"""How long a stop waits for a round that hangs in Redis."""
FAILED_PAUSE_SECONDS: Final = 1.0
"""The pause after a failed round, so that a server that is away is not called in a tight loop."""


class RoundThread:
    """Repeats a task until it is stopped. Safe to share between threads."""

    def __init__(self, name: str, work: Callable[[], None], *, pause_seconds: float = 0.0) -> None:
        """Prepare the thread without starting it.

        Args:
            name: The thread's name.
            work: One round.
            pause_seconds: The pause before each round.
        """
        self.thread: threading.Thread | None = None
        """The thread; None before the start and after a stop."""
        self._name = name
        self._work = work
        self._pause_seconds = pause_seconds
        self._stopped = threading.Event()
        self._lock = threading.Lock()

    @property
    def is_running(self) -> bool:
        """Whether the thread is alive."""
        thread = self.thread
        return thread is not None and thread.is_alive()

    def start(self) -> None:
        """Start the thread, unless it runs."""
        if self.is_running:
            return
        with self._lock:
            if self.is_running:
                return
            # Each thread has its own event: a thread that was stopped while it hung must not come back to life.
            self._stopped = threading.Event()
            self.thread = threading.Thread(target=self._run, args=(self._stopped,), name=self._name, daemon=True)
            self.thread.start()

    def stop(self) -> None:
        """Stop the thread, and wait for it a while."""
        self._stopped.set()
        thread, self.thread = self.thread, None
        if thread is not None:
            thread.join(JOIN_SECONDS)

    def _run(self, stopped: threading.Event) -> None:
        pause_seconds = self._pause_seconds
        while not stopped.wait(pause_seconds):
            has_failed = not done(self._work, self._name)
            pause_seconds = max(self._pause_seconds, FAILED_PAUSE_SECONDS if has_failed else 0.0)


def done(work: Callable[[], None], thread: str) -> bool:
    """Run one round; return False and log the error if it failed."""
    try:
        work()
    except (BandmasterError, redis.RedisError) as error:
        log.warning("round_failed", thread=thread, error=str(error))
        return False
    except Exception:  # the thread must outlive any one round
        log.exception("round_failed", thread=thread)
        return False
    return True

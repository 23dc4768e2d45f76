"""``Progress``: whether a periodic job of the leader goes on. A leader whose job hangs or always fails does not renew.

In the flow: the ticks and the planning each have one, and `ticking.py` asks both before it renews the lead.
"""

import time
from collections.abc import Generator
from contextlib import contextmanager


class Progress:
    """That of one job. Safe to share between threads."""

    def __init__(self, fails: str, hangs: str) -> None:
        """Args: `fails`, `hangs`, how the log names it if all runs fail, or one hangs."""
        self.fails, self.hangs = fails, hangs
        self._began: float | None = None
        self._failing_since: float | None = None

    @contextmanager
    def making(self) -> Generator[None]:
        """One run of the job; an error says that it failed."""
        self._began = began = time.monotonic()
        try:
            yield
        except BaseException:
            self._failing_since = self._failing_since or began
            raise
        else:
            self._failing_since = None
        finally:
            self._began = None

    def hangs_for(self) -> float:
        """Seconds since the run began that is under way; 0 if there is none."""
        began = self._began
        return 0.0 if began is None else time.monotonic() - began

    def fails_for(self) -> float:
        """Seconds since the first of the runs that failed one after the other; 0 if the last one did not."""
        failing = self._failing_since
        return 0.0 if failing is None else time.monotonic() - failing

    def forgive(self) -> None:
        """Count failures anew, from the next one on."""
        self._failing_since = None

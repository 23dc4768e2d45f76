"""The programs of executions as this machine's kernel sees them: an observer that asks neither us nor the cluster.

It looks at the environment of every process that there is, so the node has to be this machine: see `components.py`.
"""

import contextlib
import os
import signal
import threading
from pathlib import Path
from types import TracebackType

from waiting import wait_until

LOOK_EACH_SECONDS = 0.05
MARK = b"EXECUTION_ID="


class Programs:
    """Looks again and again which executions have a process, their programs' sidecars included."""

    def __init__(self) -> None:
        self._ids: set[str] = set()
        self._most: frozenset[str] = frozenset()
        self._seen: set[str] = set()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Programs":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join(timeout=10)

    def expect(self, execution_id: str) -> str:
        """Look for this execution too; returns its id."""
        self._ids = self._ids | {execution_id}
        return execution_id

    @property
    def most(self) -> frozenset[str]:
        """The most executions that had a process at one time."""
        return self._most

    @property
    def seen(self) -> frozenset[str]:
        """All that ever had one."""
        return frozenset(self._seen)

    def now(self) -> frozenset[str]:
        """Those that have one at this moment."""
        return frozenset(found for path in Path("/proc").glob("[0-9]*/environ") if (found := self._of(path)))

    def end(self, execution_id: str) -> None:
        """Ask a program to end, without the cluster's doing, and wait until it has; it has to handle SIGTERM."""
        found = {path.parent.name for path in Path("/proc").glob("[0-9]*/environ") if self._of(path) == execution_id}
        for process in found:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                parent = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()[1]
                if parent not in found:
                    os.kill(int(process), signal.SIGTERM)
        wait_until(lambda: execution_id not in self.now(), what="the program's end")

    def _of(self, path: Path) -> str | None:
        try:
            parts = path.read_bytes().split(b"\0")  # of a process that has ended: nothing
        except OSError:
            return None
        named = next((part.removeprefix(MARK).decode() for part in parts if part.startswith(MARK)), None)
        return named if named in self._ids else None

    def _run(self) -> None:
        while not self._over.wait(LOOK_EACH_SECONDS):
            now = self.now()
            self._seen |= now
            self._most = max(self._most, now, key=len)

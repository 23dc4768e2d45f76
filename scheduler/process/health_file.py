"""A health file: locked and rewritten while a process makes progress, for a liveness probe.

In the flow: scheduler and worker processes write it; `configs/deploy/probe.py` reads it. The lock shows that the
process lives, the file's age when it last made progress, and its content whether the server answered then. If the
process dies, its lock is released and the file does not count; if it hangs, the file grows old. Nothing is written
unless the setting `paths.pulse_dir` names a folder.
"""

import fcntl
import os
from pathlib import Path
from typing import Final

READY: Final = b"ready"
WAITS: Final = b"waits"
"""As many bytes as READY has, since one is written over the other."""


class HealthFile:
    """The health file of one process. Safe to share between threads."""

    def __init__(self, folder: Path | None) -> None:
        """Make the file under another name; a probe sees it from the first beat on.

        Raises:
            OSError: If the folder cannot be written.
        """
        self._descriptor: int | None = None
        self._hidden = self._path = None
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
            self._path = folder / f"{os.getpid()}.pulse"
            self._hidden = self._path.with_suffix(".new")
            self._descriptor = os.open(self._hidden, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def beat(self, *, answered: bool) -> None:
        """Record that the process makes progress.

        Args:
            answered: Whether the server answered just now.

        Raises:
            OSError: If the file cannot be written.
        """
        if self._descriptor is None or self._path is None:
            return
        os.pwrite(self._descriptor, READY if answered else WAITS, 0)
        if self._hidden is not None:
            # Probes see the file only from here on, when it is locked and has content.
            self._hidden.rename(self._path)
            self._hidden = None

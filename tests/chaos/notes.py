"""What programs note for themselves, apart from Redis: a line each, in one write to a file of the process's own.

A write that has returned is in the kernel and outlives the process, however that ends; half a line is never read.
"""

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Notes:
    """Writes a file of this process. Safe to share between threads."""

    def __init__(self, folder: Path, kind: str) -> None:
        self._file = os.open(
            folder / f"{kind}-{os.getpid()}-{time.time_ns()}.notes", os.O_CREAT | os.O_APPEND | os.O_WRONLY
        )

    def write(self, what: str, execution_id: str, **more: object) -> None:
        """One line, with the time."""
        line = {"at": time.time(), "what": what, "id": execution_id, **more}
        os.write(self._file, (json.dumps(line) + "\n").encode())


def read_notes(folder: Path, kind: str) -> Iterator[dict[str, Any]]:
    """All lines of all processes of a kind; in order within a process."""
    for path in sorted(folder.glob(f"{kind}-*.notes")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)

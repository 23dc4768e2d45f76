"""Measures the disk space of a program's folders, since file systems without quotas do not limit it.

In the flow: beside the memory check, in the supervisor's loop. Reading a folder of a million files takes seconds, so
each look continues where the last one stopped, and takes a few milliseconds. A round is followed by a pause many times
as long. The size of each single file is bounded immediately, by ``RLIMIT_FSIZE``. Standard library only.
"""

import os
import time

#: Between the ends of two rounds, doubled while nothing changes.
ROUND_SECONDS = 1.0
MAX_ROUND_SECONDS = 8.0
_LOOK_SECONDS = 0.01
_COST_FACTOR = 20
_BLOCK_BYTES = 512


class DiskWatch:
    """Measures the size of some folders, a part at each look."""

    def __init__(self, folders: list[str], limit_bytes: int) -> None:
        self.interval_seconds = ROUND_SECONDS
        self._folders = folders
        self._limit_bytes = limit_bytes
        self._left = list[str]()
        self._counted_bytes = self._last_bytes = 0
        self._cost_seconds = 0.0
        #: Files with several names (hard links) count once.
        self._linked = set[tuple[int, int]]()

    def exceeded(self) -> bool:
        """Measure the next part, and tell whether this round's sum is already over the limit."""
        if not self._left:
            self._left, self._counted_bytes, self._cost_seconds = list(self._folders), 0, 0.0
            self._linked.clear()
        began = time.monotonic()
        while self._left and time.monotonic() - began < _LOOK_SECONDS:
            self._count(self._left.pop())
        spent = time.monotonic() - began
        self._cost_seconds += spent
        if self._left:
            self.interval_seconds = _COST_FACTOR * spent
        else:
            at_rest = self._counted_bytes == self._last_bytes
            rest = min(2 * self.interval_seconds, MAX_ROUND_SECONDS) if at_rest else ROUND_SECONDS
            self.interval_seconds = max(rest, ROUND_SECONDS, _COST_FACTOR * self._cost_seconds)
            self._last_bytes = self._counted_bytes
        return self._counted_bytes > self._limit_bytes

    def _count(self, folder: str) -> None:
        try:
            entries = list(os.scandir(folder))
        except OSError:  # gone, or its owner removed the permissions
            return
        for entry in entries:
            try:
                stat = entry.stat(follow_symlinks=False)
                if entry.is_dir(follow_symlinks=False):
                    self._left.append(entry.path)
            except OSError:
                continue
            if stat.st_nlink > 1 and not entry.is_dir(follow_symlinks=False):
                if (stat.st_dev, stat.st_ino) in self._linked:
                    continue
                self._linked.add((stat.st_dev, stat.st_ino))
            self._counted_bytes += stat.st_blocks * _BLOCK_BYTES

"""A pod's memory limit: how it is watched, and what the kernel is asked to enforce.

The limit is on the memory that the program and all its descendants really use together, sampled by the supervisor.
``RLIMIT_AS`` bounds each process's address space, which interpreters reserve far beyond what they use (Node 0.7 GiB,
others several): it gets wide headroom and only stops what would outrun the samples. A program that meets it gets no
memory and ends by itself (``verdict.py`` recognises that). If the supervisor dies, its program dies with it.
"""

import os
import time

from .processes import LINUX, Process, descendants

#: The address space allowed beyond twice the limit.
ADDRESS_SPACE_HEADROOM_BYTES = 4 << 30
#: Between two samples while the use changes; asking `ps` instead of /proc is too dear for that.
SAMPLE_SECONDS = 0.05 if LINUX else 1.0
#: Between two samples at rest.
MAX_SAMPLE_SECONDS = 0.2 if LINUX else 1.0
#: The exact sum may take so long.
_EXACT_SECONDS = 0.1
#: A sample is followed by a pause at least so many times as long.
_COST_FACTOR = 4


def address_space_bytes(limit_bytes: int) -> int:
    """Compute the bound on each process's address space."""
    return 2 * limit_bytes + ADDRESS_SPACE_HEADROOM_BYTES


class MemoryWatch:
    """Samples what all descendants of this process use."""

    def __init__(self, limit_bytes: int) -> None:
        self.peak_bytes = 0
        self.interval_seconds = SAMPLE_SECONDS
        self._limit_bytes = limit_bytes
        self._last_bytes = 0

    def exceeded(self) -> bool:
        """Take a sample. Whether it is over the limit."""
        began = time.monotonic()
        processes = list(descendants(os.getpid()))
        used = sum(process.rss_bytes for process in processes)
        if used > self._limit_bytes and len(processes) > 1:
            # Pages shared by forked processes were counted once for each; near the limit the exact sum is worth it.
            used = self._exactly(processes)
        self.peak_bytes = max(self.peak_bytes, used)
        at_rest = abs(used - self._last_bytes) <= self._limit_bytes // 100
        self.interval_seconds = min(2 * self.interval_seconds, MAX_SAMPLE_SECONDS) if at_rest else SAMPLE_SECONDS
        # A pod of thousands of processes must not keep its supervisor from its other duties.
        self.interval_seconds = max(self.interval_seconds, _COST_FACTOR * (time.monotonic() - began))
        self._last_bytes = used
        return used > self._limit_bytes

    def _exactly(self, processes: list[Process]) -> int:
        began, used = time.monotonic(), 0
        for done, process in enumerate(processes):
            if used > self._limit_bytes:
                break
            if done and time.monotonic() - began > _EXACT_SECONDS:
                return used * len(processes) // done  # the rest is taken to be like those looked at
            used += proportional_bytes(process.pid, process.rss_bytes)
        return used


def proportional_bytes(pid: int, otherwise: int) -> int:
    """What a process uses, pages that it shares divided by those who share them (``Pss`` of smaps_rollup, proc(5)).

    Args:
        pid: The process.
        otherwise: The answer if the kernel does not tell.

    Returns:
        Bytes; 0 if it has ended meanwhile, for then nothing of it is used any more.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except ProcessLookupError:
        return 0
    except OSError:  # gone too; or another user's, or an old kernel
        return otherwise if os.path.exists(f"/proc/{pid}/stat") else 0
    return otherwise

"""Measures a pod's memory against its limit, and computes the bound that the kernel enforces.

The limit applies to the memory that the program and all its descendants really use together; the supervisor samples
it. ``RLIMIT_AS`` bounds each process's address space, of which interpreters reserve far more than they use (Node 0.7
GiB, others several). So it gets wide headroom, and stops only programs that grow faster than the samples notice. A
program that hits it gets no memory and ends by itself (``verdict.py`` recognises that). If the supervisor dies, its
program dies with it.
"""

import os
import time

from .processes import LINUX, Process, descendants

#: The address space allowed beyond twice the limit.
ADDRESS_SPACE_HEADROOM_BYTES = 4 << 30
#: Between two samples while the use changes; longer where `ps` has to be called instead of reading /proc.
SAMPLE_SECONDS = 0.05 if LINUX else 1.0
#: Between two samples while the use is constant.
MAX_SAMPLE_SECONDS = 0.2 if LINUX else 1.0
#: The longest time to compute the exact sum.
_EXACT_SECONDS = 0.1
#: The pause after a sample is at least so many times as long as the sample took.
_COST_FACTOR = 4


def address_space_bytes(limit_bytes: int) -> int:
    """Compute the bound on each process's address space."""
    return 2 * limit_bytes + ADDRESS_SPACE_HEADROOM_BYTES


class MemoryWatch:
    """Samples the memory use of all descendants of this process."""

    def __init__(self, limit_bytes: int) -> None:
        self.peak_bytes = 0
        self.interval_seconds = SAMPLE_SECONDS
        self._limit_bytes = limit_bytes
        self._last_bytes = 0

    def exceeded(self) -> bool:
        """Take a sample, and tell whether it is over the limit."""
        began = time.monotonic()
        processes = list(descendants(os.getpid()))
        used = sum(process.rss_bytes for process in processes)
        if used > self._limit_bytes and len(processes) > 1:
            # Pages that forked processes share were counted for each of them; over the limit, compute the exact sum.
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
                return used * len(processes) // done  # an estimate: the rest is assumed to be like those read
            used += proportional_bytes(process.pid, process.rss_bytes)
        return used


def proportional_bytes(pid: int, otherwise: int) -> int:
    """The memory of a process, each shared page divided by its number of users (``Pss`` of smaps_rollup, proc(5)).

    Args:
        pid: The process.
        otherwise: The result if the kernel does not provide the value.

    Returns:
        Bytes; 0 if the process has ended meanwhile, for then it uses no memory any more.
    """
    try:
        with open(f"/proc/{pid}/smaps_rollup", "rb") as file:
            for line in file:
                if line.startswith(b"Pss:"):
                    return int(line.split()[1]) * 1024
    except ProcessLookupError:
        return 0
    except OSError:  # ended too; or another user's process, or an old kernel
        return otherwise if os.path.exists(f"/proc/{pid}/stat") else 0
    return otherwise

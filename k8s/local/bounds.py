"""Sets the bounds of a process before it becomes the program: rlimits, niceness and affinity, enforced by the kernel.

In the flow: between fork and exec (``program.py``), so that all processes of the program inherit them. A bound that the
system does not support is left out; ``memory.py`` and ``disk.py`` measure the use in any case. Standard library only.
"""

import contextlib
import errno
import math
import os
import resource
import sys

from .memory import address_space_bytes
from .processes import LINUX
from .records import Manifest

#: Programs yield to their supervisor and the workers; programs limited to less than a core also yield to the others.
_NICENESS, _NICENESS_BELOW_A_CORE = 5, 10
#: Makes the kernel's out-of-memory killer choose the program before the supervisor.
_OOM_SCORE = "500"


def bound(manifest: Manifest) -> None:
    """Set all bounds of this process, except the number of processes, which counts for the user it changes to later."""
    _set_limit(resource.RLIMIT_CORE, 0)
    if manifest.memory_limit_bytes is not None:
        _set_limit(resource.RLIMIT_AS, address_space_bytes(manifest.memory_limit_bytes))
    if manifest.max_open_files is not None:
        _set_limit(resource.RLIMIT_NOFILE, manifest.max_open_files)
    if manifest.disk_limit_bytes is not None:
        _set_limit(resource.RLIMIT_FSIZE, manifest.disk_limit_bytes)
    if LINUX:
        # Forbidden in some containers; it only improves the choice that the kernel makes anyway.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_OOM_SCORE)
    cores = manifest.cpu_cores
    os.nice(_NICENESS_BELOW_A_CORE if cores is not None and cores < 1 else _NICENESS)
    if cores is not None:
        _bound_cpu(cores)


def bound_processes(more: int) -> None:
    """Limit this process's user to so many more processes and threads than it has now; root is not limited."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NPROC)
    present = _present(os.getuid()) if os.getuid() else None
    if present is None:
        return
    _set_limit(resource.RLIMIT_NPROC, present + more, hard=False)
    try:
        child = os.fork()
    except OSError as error:
        if error.errno != errno.EAGAIN:
            raise
        # The user has processes that are invisible here (in another container): better no bound than no program.
        resource.setrlimit(resource.RLIMIT_NPROC, (soft, hard))
        return
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    _set_limit(resource.RLIMIT_NPROC, present + more)


def _present(uid: int) -> int | None:
    """Count the processes and threads of a user; None: this system offers no way to."""
    if not LINUX:
        return None
    found = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError):
                tasks = os.stat(f"/proc/{name}/task")
                found += tasks.st_nlink - 2 if tasks.st_uid == uid else 0
    return found


def _bound_cpu(cores: float) -> None:
    # Best effort: whole cores by affinity, beginning at any core so that pods spread; fractions by niceness only.
    if sys.platform == "linux":
        allowed = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(allowed)
        os.sched_setaffinity(0, (allowed[first:] + allowed[:first])[: math.ceil(cores)])


def _set_limit(kind: int, value: int, *, hard: bool = True) -> None:
    highest = resource.getrlimit(kind)[1]
    ceiling = sys.maxsize if highest == resource.RLIM_INFINITY else highest
    bounded = min(value, ceiling)
    try:
        resource.setrlimit(kind, (bounded, bounded if hard else highest))
    except (ValueError, OSError):
        return  # a system without this limit

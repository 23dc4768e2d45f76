"""Becomes the program: the steps between fork and exec in the supervisor's child, in its own session and group.

The child waits at a gate until its number is on disk, so that no program ever runs that nobody could find. If the
supervisor dies, even before the gate opens, the child dies with it (on Linux by the kernel's parent-death signal). What
the program inherits is spelled out here: nothing of the worker's environment, descriptors, terminal or signals.
"""

import contextlib
import math
import os
import resource
import signal
import sys

from .memory import address_space_bytes
from .processes import LINUX
from .records import Folder, Manifest

try:
    import ctypes
except ImportError:  # a Python built without libffi: orphans then escape to init, and are found by their mark
    ctypes = None

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
#: Programs yield to their supervisor and to the workers; those limited to less than a core yield to the others too.
_NICENESS, _NICENESS_BELOW_A_CORE = 5, 10
#: What the kernel's own out-of-memory killer takes before the supervisor.
_OOM_SCORE = "500"


class Program:
    """A program that was forked and waits at its gate."""

    def __init__(self, pid: int, output: int, gate: int, failure: int) -> None:
        self.pid = pid
        #: Where its output is read, without blocking.
        self.output = output
        self._gate = gate
        self._failure = failure

    def release(self) -> int | None:
        """Open the gate. Returns the error number if the program could not be started."""
        with contextlib.suppress(BrokenPipeError):  # it was killed while it waited, and is found dead like any other
            os.write(self._gate, b"g")
        os.close(self._gate)
        with open(self._failure, "rb") as failure:  # ends by exec, which closes the other end
            text = failure.read()
        return int(text) if text else None


def adopt_orphans() -> bool:
    """Make this process the parent of all descendants that lose theirs, so that none escapes. Whether that worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def fork_program(manifest: Manifest, folder: Folder) -> Program:
    """Fork the program up to its gate.

    Raises:
        OSError: If the system has no room for another process.
    """
    output_read, output_write = os.pipe()
    gate_read, gate_write = os.pipe()
    failure_read, failure_write = os.pipe()
    supervisor = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(gate_write)
            _become(manifest, folder, supervisor, gate_read, output_write)
        except OSError as error:
            os.write(failure_write, str(error.errno).encode())
        finally:
            os._exit(127)
    for descriptor in (output_write, gate_read, failure_write):
        os.close(descriptor)
    os.set_blocking(output_read, False)
    return Program(pid, output_read, gate_write, failure_read)


def _become(manifest: Manifest, folder: Folder, supervisor: int, gate: int, output: int) -> None:
    os.setsid()
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor or os.read(gate, 1) != b"g":
        return  # the supervisor died before the signal was armed, or before it opened the gate
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, standard)
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    _limit(manifest)
    os.chdir(folder.work)
    os.umask(0o022)
    os.execvpe(manifest.argv[0], manifest.argv, manifest.env)


def _limit(manifest: Manifest) -> None:
    _set_limit(resource.RLIMIT_CORE, 0)
    if manifest.memory_limit_bytes is not None:
        _set_limit(resource.RLIMIT_AS, address_space_bytes(manifest.memory_limit_bytes))
    if LINUX:
        # Forbidden in some containers; it only improves what the kernel would choose anyway.
        with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w", encoding="ascii") as file:
            file.write(_OOM_SCORE)
    cores = manifest.cpu_cores
    os.nice(_NICENESS_BELOW_A_CORE if cores is not None and cores < 1 else _NICENESS)
    if cores is not None:
        _limit_cpu(cores)


def _limit_cpu(cores: float) -> None:
    # Best effort: whole cores by affinity, starting anywhere so that pods spread; parts of one by niceness alone.
    if sys.platform == "linux":
        allowed = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(allowed)
        os.sched_setaffinity(0, (allowed[first:] + allowed[:first])[: math.ceil(cores)])


def _set_limit(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    ceiling = sys.maxsize if hard == resource.RLIM_INFINITY else hard
    bound = min(value, ceiling)
    try:
        resource.setrlimit(kind, (bound, bound))
    except (ValueError, OSError):
        return  # a system without this limit; the samples still watch the memory


def _prctl(option: int, value: int) -> bool:
    if not LINUX or ctypes is None:
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0

"""Starts the program: the steps between fork and exec in the supervisor's child, in its own session and group.

The child waits on a pipe, its start gate, until its process number is on disk, so that every running program can be
found. If the supervisor dies, even before it opens the gate, the child dies too (on Linux by the kernel's parent-death
signal). The program inherits nothing of the worker's environment, descriptors, terminal or signals. Nor can it gain
another user's rights by a setuid program (``sudo``), since its supervisor could not kill it then.
"""

import contextlib
import errno
import os
import signal

from .bounds import bound, bound_processes
from .processes import LINUX
from .records import Folder, Manifest

try:
    import ctypes
except ImportError:  # a Python built without libffi: init then adopts orphans; their environment still identifies them
    ctypes = None

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38


class Program:
    """A program that was forked and waits at its start gate."""

    def __init__(self, pid: int, output: int, gate: int, failure: int) -> None:
        self.pid = pid
        #: The descriptor that its output is read from, without blocking.
        self.output = output
        self._gate = gate
        self._failure = failure

    def release(self) -> int | None:
        """Open the gate. Returns the error number if the program could not be started."""
        with contextlib.suppress(BrokenPipeError):  # killed while it waited: the supervisor reaps it as usual
            os.write(self._gate, b"g")
        os.close(self._gate)
        with open(self._failure, "rb") as failure:  # ends when exec closes the other end
            text = failure.read()
        return int(text) if text else None


def adopt_orphans() -> bool:
    """Make this process the parent of all orphaned descendants, so that none escapes. Returns whether that worked."""
    return _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def fork_program(manifest: Manifest, folder: Folder) -> Program:
    """Fork the program up to its start gate.

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
    if not _tied_to(supervisor) or os.read(gate, 1) != b"g":
        return  # the supervisor died before it opened the gate
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (output, 1), (output, 2)):
        os.dup2(descriptor, standard)
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    bound(manifest)
    if manifest.user is not None:
        _change_user(*manifest.user)
        if not _tied_to(supervisor):  # changing the user cleared the parent-death signal
            return
    if manifest.max_processes is not None:
        bound_processes(manifest.max_processes)
    if not manifest.sandboxed:  # a sandbox sets it too, but bwrap itself may need to be setuid
        _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    os.chdir(folder.work)
    os.umask(0o022)
    _execute(manifest.argv, manifest.env)


def _execute(argv: list[str], env: dict[str, str]) -> None:
    """Like ``os.execvpe``, which would import a module now, from files that another user may be unable to read."""
    if "/" in argv[0]:
        os.execve(argv[0], argv, env)
    failure: OSError = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    for folder in env["PATH"].split(":"):
        try:
            os.execve(os.path.join(folder, argv[0]), argv, env)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            failure = error
    raise failure


def _tied_to(supervisor: int) -> bool:
    """Make this process die with the supervisor from now on. False: the supervisor has died already."""
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    return os.getppid() == supervisor


def _change_user(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def _prctl(option: int, value: int) -> bool:
    if not LINUX or ctypes is None:
        return False
    return ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0

"""Decides why a program ended, from its exit status, its supervisor's actions and, for memory, the end of its output.

Pure functions. A program that hits ``RLIMIT_AS`` is not killed: it gets no memory and gives up in its own way, so the
end of its output decides. By faking that, a program can only falsify its own outcome. If the supervisor stopped the
program, the reason is known.
"""

import errno
import os
import signal

from ..phases import Reason

#: Memory is taken as the cause if one of these signals killed a program whose peak exceeded this part of its limit.
_NEAR_LIMIT = 0.9
_DEADLY = (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGTRAP)
#: The messages of interpreters and C libraries that get no more memory.
_LAST_WORDS = (
    b"MemoryError",
    b"std::bad_alloc",
    b"Cannot allocate memory",
    b"JavaScript heap out of memory",
    b"Array buffer allocation failed",
    b"memory exhausted",
    b"java.lang.OutOfMemoryError",
    b"runtime: out of memory",
)
_LAST_LINES = 12
#: A shell's exit codes for a program that cannot be started.
EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126
#: The beginning of bwrap's message about such a program.
_UNSTARTED = b"bwrap: execvp "


def exit_of(wait_status: int, *, sandboxed: bool = False) -> tuple[int | None, int | None]:
    """Split a wait status into exit code and signal, of which one is None.

    Args:
        wait_status: The wait status of the process.
        sandboxed: The process is a sandbox, which reports its program's signal as a shell does: 128 plus the number.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    if sandboxed and code - 128 in signal.valid_signals():
        code = 128 - code
    return (None, -code) if code < 0 else (code, None)


def unstarted(exit_code: int | None, tail: bytes) -> int | None:
    """The exit code that a shell would give to a program that its sandbox could not start; None: it was started."""
    if exit_code != 1 or not tail.startswith(_UNSTARTED):
        return None
    return EXIT_NOT_FOUND if os.strerror(errno.ENOENT).encode() in tail else EXIT_NOT_EXECUTABLE


def judge(
    exit_code: int | None, signal_number: int | None, *, stopped_for: Reason | None, peak: float | None, tail: bytes
) -> Reason:
    """Decide why a program that had been started ended.

    Args:
        exit_code: Its exit code, if any.
        signal_number: The signal that ended it, if any.
        stopped_for: Why its supervisor was stopping it, if it was.
        peak: The most memory that it was measured to use, as a part of its limit; None: it has no limit.
        tail: The end of its output.
    """
    if stopped_for is Reason.OOM_KILLED and exit_code == 0:
        return Reason.COMPLETED  # it had already succeeded when KILL was sent
    if stopped_for is not None:
        return stopped_for
    if exit_code == 0:
        return Reason.COMPLETED
    if peak is not None and _died_of_memory(signal_number, peak, tail):
        return Reason.OOM_KILLED
    return Reason.ERROR


def _died_of_memory(signal_number: int | None, peak: float, tail: bytes) -> bool:
    if signal_number in _DEADLY and peak >= _NEAR_LIMIT:
        return True
    last_lines = b"\n".join(tail.rstrip().splitlines()[-_LAST_LINES:])
    return any(words in last_lines for words in _LAST_WORDS)

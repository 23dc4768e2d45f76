"""Judges why a program ended, from what the kernel and its supervisor know and, for memory, from its last words.

Pure functions. A program that meets ``RLIMIT_AS`` is not killed, it gets no memory and gives up in its own way, so
what it wrote at its end decides; it can only deceive about itself. Deaths that the supervisor caused need no guess.
"""

import errno
import os
import signal

from ..phases import Reason

#: A death by one of these signals with a peak beyond this part of the limit is put down to the memory.
_NEAR_LIMIT = 0.9
_DEADLY = (signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGTRAP)
#: What interpreters and C libraries say when they get no more memory.
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
#: What a shell says of a program that cannot be started.
EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126
#: How bwrap begins when it says so.
_UNSTARTED = b"bwrap: execvp "


def exit_of(wait_status: int, *, sandboxed: bool = False) -> tuple[int | None, int | None]:
    """Split a wait status into exit code and signal, of which one is None.

    Args:
        wait_status: Of the process.
        sandboxed: It is a sandbox's, which tells of its program's signal as a shell does, by a code beyond 128.
    """
    code = os.waitstatus_to_exitcode(wait_status)
    if sandboxed and code - 128 in signal.valid_signals():
        code = 128 - code
    return (None, -code) if code < 0 else (code, None)


def unstarted(exit_code: int | None, tail: bytes) -> int | None:
    """What a shell would say of a program that its sandbox could not start; None: it was started."""
    if exit_code != 1 or not tail.startswith(_UNSTARTED):
        return None
    return EXIT_NOT_FOUND if os.strerror(errno.ENOENT).encode() in tail else EXIT_NOT_EXECUTABLE


def judge(
    exit_code: int | None, signal_number: int | None, *, stopped_for: Reason | None, peak: float | None, tail: bytes
) -> Reason:
    """Say why a program that had been started ended.

    Args:
        exit_code: Its exit code, if any.
        signal_number: The signal that ended it, if any.
        stopped_for: Why its supervisor was stopping it, if it was.
        peak: The most memory it was seen to use, as a part of its limit; None: it has no limit.
        tail: The end of its output.
    """
    if stopped_for is Reason.OOM_KILLED and exit_code == 0:
        return Reason.COMPLETED  # it had ended well by the time of its KILL
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

"""The three standard streams as every command has them: there, and failing in one way.

In the flow: `main` opens them before anything is written. A stream that the caller closed (``<&-``, ``>&-``) would be
missing, and its number taken by the next file or socket that is opened; and what cannot be written (a full disk, a
reader or a terminal that is gone) would end as whatever exception the writer of that moment lets through. Here each is
a `StreamLost`, raised once: what comes after is dropped, so that the end of a command still goes its way.
"""

import contextlib
import errno
import io
import os
import sys
from typing import TYPE_CHECKING, Final, TextIO

from bandmaster.cli.exits import CommandFailed, Exit

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_NAMES: Final = {1: "standard output", 2: "standard error"}
_GONE: Final = frozenset({errno.EPIPE, errno.EIO, errno.ECONNRESET})
"""A pipe that nobody reads any more, a terminal that was closed: there is nobody to tell."""


class StreamLost(CommandFailed):
    """A standard stream cannot be written."""

    def __init__(self, number: int, error: OSError) -> None:
        self.unread = error.errno in _GONE
        """Whether whoever read it has gone: nothing is to be said then."""
        super().__init__(
            f"{_NAMES[number]} cannot be written: {error.strerror}", Exit.UNREAD if self.unread else Exit.FAILED
        )


class _Descriptor(io.FileIO):
    """Standard output or error, without a buffer."""

    def __init__(self, number: int) -> None:
        super().__init__(number, "w", closefd=False)
        self._lost = False

    def write(self, data: "ReadableBuffer", /) -> int:
        if not self._lost:
            try:
                return super().write(data)
            except OSError as error:
                self._lost = True
                raise StreamLost(self.fileno(), error) from None
        return memoryview(data).nbytes


def open_streams() -> None:
    """Make ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` such streams."""
    _fill_closed()
    if sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - it is where the caller closed it
        sys.stdin = open(0, closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stdout, sys.stderr = _text(1, sys.stdout), _text(2, sys.stderr)


def flush_streams() -> None:
    """Write what is still buffered.

    Raises:
        StreamLost: If it cannot be written.
    """
    sys.stdout.flush()
    sys.stderr.flush()


def _fill_closed() -> None:
    # The lowest number that is free is taken. Opened for the other direction, so that using it fails, as it should.
    for number, flags in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_RDONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, flags), True)


def _text(number: int, former: TextIO | None) -> io.TextIOWrapper:
    if former is not None:
        with contextlib.suppress(OSError, ValueError):
            former.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_Descriptor(number)),
        encoding=getattr(former, "encoding", None) or "utf-8",
        # A terminal that cannot show a character shows its number; no command fails for it.
        errors="backslashreplace",
        line_buffering=number == 2 or os.isatty(number),
    )

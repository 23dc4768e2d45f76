"""Opens the three standard streams for every command, so that all exist and every failed write raises one error.

In the flow: `main` opens them before anything is written. If the caller had closed a stream (``<&-``, ``>&-``), the
next file or socket would get its number. And a failed write (a full disk, a reader or a terminal that is gone) would
raise different exceptions, depending on the writer. Here each raises a `StreamLost`, once: later output is dropped, so
that the command can still finish in order.
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
"""The pipe's reader is gone, or the terminal was closed: nobody would read a message."""


class StreamLost(CommandFailed):
    """A standard stream cannot be written."""

    def __init__(self, number: int, error: OSError) -> None:
        self.unread = error.errno in _GONE
        """Whether the stream's reader is gone: no message is printed then."""
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
    """Replace ``sys.stdin``, ``sys.stdout`` and ``sys.stderr`` by such streams."""
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
    # `open` takes the lowest free number. Open each for the opposite direction, so that using it fails, as it should.
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
        # A character that the terminal's encoding lacks is shown as its number; no command fails for that.
        errors="backslashreplace",
        line_buffering=number == 2 or os.isatty(number),
    )

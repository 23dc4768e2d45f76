"""A pseudo-terminal of a given width, in which a command is the foreground process, as somebody's shell starts it."""

import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import termios
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread

from cli.driving import Driver

from waiting import GENEROUS_SECONDS, wait_until


def _begin() -> None:
    """What a login does before a shell begins."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    hear_signals()


def hear_signals() -> None:
    """Have a new process hear them: where tests run in the background or under `nohup`, they are ignored."""
    for each in (signal.SIGHUP, signal.SIGINT):
        signal.signal(each, signal.SIG_DFL)


class Terminal:
    """One process in a terminal; what it shows is read all the time."""

    def __init__(self, command: Sequence[str | Path], *, columns: int, cwd: Path, environment: dict[str, str]) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env=environment | {"TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=_begin,
        )
        os.close(theirs)
        self._read = bytearray()
        self._closing = Event()
        self._reader = Thread(target=self._read_on, daemon=True)
        self._reader.start()

    @property
    def shown(self) -> str:
        """All that was written to it, as it was written but for the terminal's line ends."""
        return self._read.decode(errors="replace").replace("\r\n", "\n")

    def type(self, text: str) -> None:
        """Type it."""
        os.write(self._ours, text.encode())

    def wait_for(self, text: str) -> None:
        """Wait until it shows this."""
        wait_until(lambda: text in self.shown or self.process.poll() is not None, what=f"{text!r} shown")
        assert text in self.shown, self.shown

    def wait(self) -> int:
        """Wait for the end of its process; the exit code."""
        code = self.process.wait(timeout=60)
        self._reader.join(timeout=30)
        return code

    def close(self) -> None:
        """Close it, as somebody closes its window."""
        self._closing.set()
        # While somebody reads from it, the kernel keeps it open.
        self._reader.join(timeout=30)

    def _read_on(self) -> None:
        with os.fdopen(self._ours, "rb", buffering=0) as ours:
            while not self._closing.is_set():
                if not select.select([ours], [], [], 0.05)[0]:
                    continue
                try:
                    data = ours.read(65536)
                except OSError:
                    data = b""
                if not data:
                    # Nobody has it open. A window stays all the same: one that closed here would hang up on `nohup` in
                    # the moment between its letting go of the terminal and its ignoring that.
                    self._stay_open()
                    return
                self._read += data

    def _stay_open(self) -> None:
        while self.process.poll() is None and not self._closing.wait(0.05):
            pass


def shown_to(driver: Driver, columns: int, *arguments: str) -> tuple[int, str]:
    """Run a command to its end with its three streams in a terminal: its exit code, and what it shows.

    It is forked as `Driver.run` does, and so not the terminal's foreground process: for what no signal is meant.
    """
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    shown = bytearray()

    def read_on() -> None:
        with suppress(OSError):
            while data := os.read(ours, 65536):
                shown.extend(data)

    reader = Thread(target=read_on, daemon=True)
    reader.start()
    code = driver.run_with([os.ttyname(theirs)] * 3, *arguments, TERM="xterm-256color")
    # When nobody has it open any more, the reader has read all.
    os.close(theirs)
    reader.join(timeout=GENEROUS_SECONDS)
    os.close(ours)
    return code, shown.decode(errors="replace").replace("\r\n", "\n")


@contextmanager
def terminal(
    command: Sequence[str | Path], *, columns: int, cwd: Path, environment: dict[str, str]
) -> Generator[Terminal]:
    """A terminal that is closed behind the block, its process killed if it is still there."""
    opened = Terminal(command, columns=columns, cwd=cwd, environment=environment)
    try:
        yield opened
    finally:
        if opened.process.poll() is None:
            opened.process.kill()
            opened.process.wait(timeout=30)
        opened.close()

"""Starts the processes of `bandmaster up` by honcho's Manager, and ends them in order.

In the flow: `up` runs a `Stack` until a signal arrives or one process ends. Then all are ended, the server last, so
that the others can still settle with it. A signal handler only notes the signal, since printing or killing in a handler
can break the code that it interrupts; the loop acts on it within a tenth of a second. If this process is killed, its
children notice and end too. If its output has no reader any more (a closed terminal), it ends as on a signal.
"""

import contextlib
import multiprocessing
import os
import shlex
import signal
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from types import FrameType
from typing import Any, Final

from honcho.environ import parse_procfile  # pyright: ignore[reportUnknownVariableType]
from honcho.manager import Manager
from honcho.printer import Printer
from honcho.process import Popen, Process

from bandmaster.cli.exits import CommandFailed, WrongUsage
from bandmaster.cli.screen import notes
from bandmaster.cli.streams import StreamLost
from bandmaster.configs.children import OURS, child_environment

SERVER: Final = "redis"
"""The name of the process that is ended last."""

OF_LEDGER: Final = ("sqlalchemy", "alembic")
OF_API: Final = ("fastapi", "uvicorn", *OF_LEDGER)
"""What the extras `ledger` and `api` install. They are not imported here, which would take half a second."""

ASK_ALL_SECONDS: Final = 10.0
"""If a process does not end within this time after SIGTERM, its whole process group gets SIGTERM, too."""

STOP_SECONDS: Final = 20.0
"""After this time, the remaining processes are killed."""

STOP_WITHOUT_SERVER_SECONDS: Final = 2.0
"""The same if the server has died, and, but for the server, if it never answered: nothing can be settled, and a
starting worker would wait for the server."""

ENDING_SIGNALS: Final = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT") if hasattr(signal, name)
)


def built_in(workers: int, threads: int) -> dict[str, str]:
    """The built-in processes, run by this Python; ledger and API, if what they need is installed.

    An empty ``--path`` keeps the current folder off the worker's path.
    """
    modules = {
        SERVER: ["bandmaster.scheduler.server.embedded"],
        "worker": ["dramatiq", "bandmaster.actors", "--path", "--processes", str(workers), "--threads", str(threads)],
        "scheduler": ["bandmaster.scheduler"],
    }
    if all(find_spec(package) for package in OF_LEDGER):
        modules["ledger"] = ["bandmaster.ledger"]
    if all(find_spec(package) for package in OF_API):
        modules["api"] = ["bandmaster.admin"]
    python = ["env", *(f"{name}={value}" for name, value in OURS.items()), sys.executable, "-m"]
    return {name: f"exec {shlex.join([*python, *module])}" for name, module in modules.items()}


def from_procfile(path: Path) -> dict[str, str]:
    """Read the processes of a Procfile.

    Raises:
        WrongUsage: If the file cannot be read, names no process, or one twice.
    """
    try:
        parsed = parse_procfile(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise WrongUsage(f"{path} cannot be read: {error.strerror}") from None
    except (UnicodeDecodeError, AssertionError) as error:
        raise WrongUsage(f"{path} cannot be used: {error}") from None
    commands: dict[str, str] = dict(parsed.processes)  # pyright: ignore[reportUnknownArgumentType,reportUnknownMemberType]
    if not commands:
        raise WrongUsage(f"{path} names no process; a line is NAME: COMMAND")
    return commands


def environment() -> dict[str, str]:
    """The environment for the children: this process's own, with this installation's `python` and `dramatiq` first."""
    variables = child_environment()
    variables["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), variables.get("PATH", os.defpath)])
    if sys.prefix != sys.base_prefix:
        variables["VIRTUAL_ENV"] = sys.prefix
    return variables


def ask_to_end(pid: int) -> None:
    """Send SIGTERM to a process, but not to its group: Dramatiq passes it on, and a second one means "at once"."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


def ask_rest_to_end(pid: int) -> None:
    """Send SIGTERM to a process's group: its descendants, and itself if it still runs."""
    # If the whole group is gone, macOS reports a missing permission.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGTERM)


def has_gone(pid: int) -> bool:
    """Whether a process does not exist any more."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def _reaped(*arguments: Any, **options: Any) -> Popen:
    """Start a child and reap it at once when it ends, even if its descendants still hold its output open."""
    child = Popen(*arguments, **options)
    Thread(target=child.wait, daemon=True).start()
    return child


class _Child(Process):
    """A process that ends when the managing process is gone, however that died."""

    def run(self, events: Any = None, ignore_signals: bool = False) -> None:
        # Ctrl-\ reaches this process too, but it has to live on until the managing process ends it in order.
        if hasattr(signal, "SIGQUIT"):
            signal.signal(signal.SIGQUIT, lambda _number, _frame: None)
        self._child_ctor = _reaped
        Thread(target=self._end_with_parent, daemon=True).start()
        super().run(events, ignore_signals)

    def _end_with_parent(self) -> None:
        parent = multiprocessing.parent_process()
        if parent is None:
            return
        parent.join()
        if self._child is not None:
            ask_to_end(self._child.pid)
            self._child.wait()
            ask_rest_to_end(self._child.pid)
        # Not a normal exit: that would wait for a reader of the remaining output.
        os._exit(0)


class _Log(Printer):
    """Prints the output of the processes to standard error."""

    def __init__(self, on_unread: Callable[[], None]) -> None:
        super().__init__(sys.stderr, colour=not notes().no_color)
        self._on_unread = on_unread

    def write(self, message: Any) -> None:
        try:
            super().write(message)  # pyright: ignore[reportUnknownMemberType]
        except StreamLost as lost:
            # A full disk is no reason to end the processes.
            if lost.unread:
                self._on_unread()


class Stack(Manager):
    """Runs the processes until one ends or a signal arrives; then ends all, the server last.

    Raises:
        CommandFailed: If this machine has no shared memory for several processes.
    """

    def __init__(self, commands: dict[str, str], *, on_start: Callable[[], None], awaits_server: bool) -> None:
        """Args: `awaits_server`, whether nothing of it can have begun before the server answers (`note_server`)."""
        try:
            super().__init__(_Log(self.ask_to_end))
        except (OSError, ImportError) as error:
            raise CommandFailed(
                f"worker processes need shared memory, and there is none ({error}): mount a tmpfs at /dev/shm that "
                "can be written"
            ) from None
        self._process_ctor = _Child
        self._on_start = on_start
        self._awaits_server = awaits_server
        self._ending_since: float | None = None
        self.asked_by: signal.Signals | None = None
        """The signal that asked for the end."""
        self.died: dict[str, int] = {}
        """The processes that ended by themselves, with their exit codes."""
        for name, command in commands.items():
            self.add_process(name, command, env=environment())  # pyright: ignore[reportUnknownMemberType]

    def ask_to_end(self, how: signal.Signals = signal.SIGHUP) -> None:
        """Request the end of all processes; only the first request counts."""
        self.asked_by = self.asked_by or how

    def note_server(self) -> None:
        """Note that the server has answered."""
        self._awaits_server = False

    def terminate(self) -> None:
        """Begin to end the processes, once."""
        if self._ending_since is None:
            self._ending_since = time.monotonic()
            self.died = {name: code for name, code in self._codes().items() if code is not None}

    def kill(self) -> None:
        """Kill the remaining processes, once they had enough time to end."""
        if self._ending_seconds >= (STOP_WITHOUT_SERVER_SECONDS if SERVER in self.died else STOP_SECONDS):
            super().kill()
        elif self._awaits_server and self._ending_seconds >= STOP_WITHOUT_SERVER_SECONDS:
            # A starting worker of Dramatiq's heeds no signal while it waits for the server.
            for name, code in self._codes().items():
                if code is None and name != SERVER:
                    with contextlib.suppress(ProcessLookupError, PermissionError):
                        os.killpg(self._known[name]["pid"], signal.SIGKILL)

    def _start(self) -> None:
        def note_signal(number: int, _frame: FrameType | None) -> None:
            self.ask_to_end(signal.Signals(number))

        for number in ENDING_SIGNALS:
            # Under nohup, a closed terminal must not end anything.
            if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, note_signal)
        super()._start()
        self._on_start()

    def _all_started(self) -> bool:
        # The loop calls this in every round, so a noted signal is handled here.
        started = bool(super()._all_started())
        if started and self.asked_by is not None:
            self.terminate()
        if started and self._ending_since is not None:
            self._end_in_order()
            self.kill()
        return started

    def _end_in_order(self) -> None:
        left = [name for name, code in self._codes().items() if code is None]
        for name in left:
            process = self._known[name]
            if name == SERVER and left != [SERVER]:
                continue
            if not process.get("asked"):
                process["asked"] = True
                ask_to_end(process["pid"])
            elif not process.get("all_asked") and (has_gone(process["pid"]) or self._ending_seconds >= ASK_ALL_SECONDS):
                # In a Procfile line without `exec`, the shell does not pass signals on to its command.
                process["all_asked"] = True
                ask_rest_to_end(process["pid"])

    @property
    def _ending_seconds(self) -> float:
        return 0.0 if self._ending_since is None else time.monotonic() - self._ending_since

    def _codes(self) -> dict[str, int | None]:
        return {name: process.get("returncode") for name, process in self._known.items()}

    @property
    def _known(self) -> dict[str, dict[str, Any]]:
        # honcho's own table, which it leaves untyped: name → "pid" once started, "returncode" once ended.
        known: Any = self._processes  # pyright: ignore[reportUnknownMemberType]
        return known

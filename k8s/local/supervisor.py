"""Supervises one program: starts it, collects its output, enforces its limits, records its end.

A detached process (``claiming.py``) does nothing else. It sleeps until there is output, a signal, a message on
``control``, or a limit to check. If this process is killed, the kernel releases its lock and kills its program; the
next observer kills remaining processes and settles the pod as lost (``settling.py``). Standard library only.
"""

import errno
import os
import select
import signal
import sys
import time

from ..phases import Reason
from .disk import ROUND_SECONDS, DiskWatch
from .memory import MemoryWatch
from .processes import kill_descendants, signal_group, terminate
from .program import Program, adopt_orphans, fork_program
from .recording import Recorder
from .records import Folder, Manifest
from .verdict import EXIT_NOT_EXECUTABLE, EXIT_NOT_FOUND, exit_of, judge, unstarted

_READ_BYTES = 1 << 16
#: How long output is still read after all of the program's processes are dead.
_DRAIN_SECONDS = 1.0


class Supervisor:
    """Supervises one program from its start to its end.

    Args:
        folder: The pod's folder.
        manifest: The pod's manifest.
        control: The descriptor of its control pipe: a message makes it check for a deletion.
        lock: The descriptor of the pod's lock.
    """

    def __init__(self, folder: Folder, manifest: Manifest, control: int, lock: int) -> None:
        self._folder = folder
        self._manifest = manifest
        self._control = control
        self._recorder = Recorder(folder, manifest, lock)
        self._output: int | None = None
        self._memory = None if manifest.memory_limit_bytes is None else MemoryWatch(manifest.memory_limit_bytes)
        limit = manifest.disk_limit_bytes
        self._disk = None if limit is None else DiskWatch([folder.work, folder.tmp], limit)
        self._peak_bytes = 0
        self._note = ""
        #: Why the program is being stopped, and when it gets KILL; later reasons do not replace the first.
        self._stopping: Reason | None = None
        self._kill_at: float | None = None
        #: The program's wait status, once it has ended.
        self._ended: int | None = None

    def run(self) -> None:
        """Run the program and record how it ended, or make the pod vanish if it was deleted meanwhile."""
        wakeup_read, wakeup_write = os.pipe()
        for descriptor in (wakeup_read, wakeup_write):
            os.set_blocking(descriptor, False)
        signal.set_wakeup_fd(wakeup_write, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, self._on_child)
        signal.signal(signal.SIGTERM, self._on_shutdown)
        for ignored in (signal.SIGINT, signal.SIGHUP):
            signal.signal(ignored, signal.SIG_IGN)
        adopted = adopt_orphans()
        try:
            program = fork_program(self._manifest, self._folder)
        except OSError as error:
            note = f"no process could be started: {error.strerror}"
            self._recorder.finish(
                reason=Reason.START_ERROR,
                exit_code=None,
                signal_number=None,
                ended_at=time.time(),
                duration_seconds=0.0,
                note=note,
            )
            return
        self._output = program.output
        self._recorder.begin(program.pid)
        began = time.monotonic()
        failure = program.release()
        self._watch(program, began, wakeup_read)
        duration_seconds, ended_at = time.monotonic() - began, time.time()
        self._kill_all(None if adopted else program.pid)
        self._drain(time.monotonic() + _DRAIN_SECONDS)
        reason, exit_code, signal_number = self._judge(failure)
        self._recorder.finish(
            reason=reason,
            exit_code=exit_code,
            signal_number=signal_number,
            ended_at=ended_at,
            duration_seconds=duration_seconds,
            note=self._note,
        )

    def _on_child(self, number: int, frame: object) -> None:
        """Does nothing: a handler has to exist for the signal to wake the loop."""

    def _on_shutdown(self, number: int, frame: object) -> None:
        # A machine that shuts down sends TERM to all processes: the program then counts as lost with its node.
        self._stop(Reason.NODE_LOST)

    def _watch(self, program: Program, began: float, wakeup: int) -> None:
        deadline = began + self._manifest.timeout_seconds
        sample_at = began if self._memory else None
        count_at = began + ROUND_SECONDS if self._disk else None
        while self._ended is None:
            now = time.monotonic()
            if self._memory and sample_at is not None and now >= sample_at:
                if self._memory.exceeded():
                    self._stop(Reason.OOM_KILLED, program, grace_seconds=0.0)
                sample_at = now + self._memory.interval_seconds
            if self._disk and count_at is not None and now >= count_at:
                if self._disk.exceeded():
                    self._note = f"its folders held more than the limit of {self._manifest.disk_limit_bytes} bytes"
                    self._stop(Reason.ERROR, program, grace_seconds=0.0)
                count_at = now + self._disk.interval_seconds
            if now >= deadline:
                self._stop(Reason.DEADLINE_EXCEEDED, program)
            if self._stopping and self._kill_at is None:
                self._stop(self._stopping, program)
            if self._kill_at is not None and now >= self._kill_at:
                signal_group(program.pid, signal.SIGKILL)
                kill_descendants()
            self._sleep(wakeup, [deadline, sample_at, count_at, self._kill_at])
            self._reap(program.pid)

    def _sleep(self, wakeup: int, alarms: list[float | None]) -> None:
        now = time.monotonic()
        pending = [alarm for alarm in alarms if alarm is not None]
        # An alarm in the past was handled already: its effect causes an event, or is noticed after this short sleep.
        timeout = min((alarm - now if alarm > now else 0.05 for alarm in pending), default=None)
        sources = [wakeup, self._control, *([] if self._output is None else [self._output])]
        ready = select.select(sources, [], [], timeout)[0]
        for source in ready:
            if source == self._output:
                self._read_output()
                continue
            _discard(source)
            if source == self._control and self._folder.marked(self._folder.deleting, self._manifest.uid):
                self._stop(Reason.DELETED)

    def _stop(self, reason: Reason, program: Program | None = None, *, grace_seconds: float | None = None) -> None:
        if self._stopping is None:
            self._stopping = reason
        if program is not None and self._kill_at is None:
            grace = self._manifest.grace_seconds if grace_seconds is None else grace_seconds
            self._kill_at = time.monotonic() + grace
            if grace > 0:
                # A sandbox's leader would end at once on TERM, and with it all processes inside.
                terminate(program.pid, spare_leader=self._manifest.sandboxed)

    def _reap(self, program_pid: int) -> None:
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            if pid == program_pid:
                self._ended = status
                # Kibibytes, on macOS bytes.
                self._peak_bytes = usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)

    def _kill_all(self, group: int | None) -> None:
        """Kill all processes that the program left behind, and wait until no killable descendant remains."""
        if group is not None:
            signal_group(group, signal.SIGKILL)
        while kill_descendants():
            time.sleep(0.002)
            self._reap(0)
        self._reap(0)

    def _read_output(self) -> None:
        if self._output is None:
            return
        try:
            data = os.read(self._output, _READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._recorder.writer.write(data)
        else:
            os.close(self._output)
            self._output = None

    def _drain(self, deadline: float) -> None:
        while self._output is not None and (left := deadline - time.monotonic()) > 0:
            select.select([self._output], [], [], left)
            self._read_output()

    def _judge(self, failure: int | None) -> tuple[Reason, int | None, int | None]:
        """Determine reason, exit code and signal of a program that has ended or could not be started."""
        if failure is not None:
            self._note = f"{self._manifest.argv[0]}: {os.strerror(failure)}"
            return Reason.START_ERROR, EXIT_NOT_FOUND if failure == errno.ENOENT else EXIT_NOT_EXECUTABLE, None
        sandboxed, tail = self._manifest.sandboxed, self._recorder.tail()
        exit_code, signal_number = exit_of(self._ended or 0, sandboxed=sandboxed)
        if sandboxed and (code := unstarted(exit_code, tail)):
            return Reason.START_ERROR, code, None
        limit = self._manifest.memory_limit_bytes
        peak = max(self._memory.peak_bytes, self._peak_bytes) / limit if self._memory and limit else None
        return (
            judge(exit_code, signal_number, stopped_for=self._stopping, peak=peak, tail=tail),
            exit_code,
            signal_number,
        )


def _discard(source: int) -> None:
    try:
        os.read(source, 4096)
    except BlockingIOError:
        return

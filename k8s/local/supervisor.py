"""Stands over one program: starts it, collects its output, enforces its limits, records its end.

It is all that a detached process (``claiming.py``) does. It sleeps until there is output, a signal, a word through
``control`` or a limit to look at. If the process is killed, the kernel drops its lock and kills its program; whoever
looks next kills what is left and settles the pod as lost (``settling.py``). Standard library only.
"""

import errno
import os
import select
import signal
import sys
import time

from ..phases import PodPhase, Reason
from .memory import MemoryWatch
from .processes import kill_descendants, look_at, signal_group
from .program import Program, adopt_orphans, fork_program
from .records import Folder, Manifest, Progress
from .segments import OutputReader, OutputWriter
from .verdict import exit_of, judge

_READ_BYTES = 1 << 16
#: How long output is still read when all of the program's processes are dead.
_DRAIN_SECONDS = 1.0
#: Between two tries to record the end on a full disk.
_RECORD_AGAIN_SECONDS = 1.0
#: What a shell says of a program that cannot be started.
EXIT_NOT_FOUND, EXIT_NOT_EXECUTABLE = 127, 126


class Supervisor:
    """Watches over one program from its start to its end."""

    def __init__(self, folder: Folder, manifest: Manifest, control: int) -> None:
        self._folder = folder
        self._manifest = manifest
        self._control = control
        self._progress = Progress(uid=manifest.uid, supervisor_pid=os.getpid())
        self._writer = OutputWriter(folder.output, manifest.segment_bytes)
        self._output: int | None = None
        self._memory = None if manifest.memory_limit_bytes is None else MemoryWatch(manifest.memory_limit_bytes)
        self._peak_bytes = 0
        #: Why the program is being stopped, and when it gets KILL; the first reason stays.
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
            self._finish(reason=Reason.START_ERROR, exit_code=None, signal_number=None, note=note)
            return
        self._output = program.output
        began = self._begin(program)
        failure = program.release()
        self._watch(program, began, wakeup_read)
        self._progress.duration_seconds = time.monotonic() - began
        self._progress.ended_at = time.time()
        self._kill_all(None if adopted else program.pid)
        self._drain(time.monotonic() + _DRAIN_SECONDS)
        self._settle(failure)

    def _on_child(self, number: int, frame: object) -> None:
        """Only there so that the signal is delivered and wakes the loop."""

    def _on_shutdown(self, number: int, frame: object) -> None:
        # A machine that shuts down says TERM to everything: the program is then lost with its node.
        self._stop(Reason.NODE_LOST)

    def _begin(self, program: Program) -> float:
        own, begun = look_at(os.getpid()), look_at(program.pid)
        self._progress.phase = PodPhase.RUNNING.value
        self._progress.supervisor_identity = own.identity if own else ""
        self._progress.program_pid = program.pid
        self._progress.program_identity = begun.identity if begun else ""
        self._progress.started_at = time.time()
        self._folder.write_progress(self._progress)
        return time.monotonic()

    def _watch(self, program: Program, began: float, wakeup: int) -> None:
        deadline = began + self._manifest.timeout_seconds
        sample_at = began if self._memory else None
        while self._ended is None:
            now = time.monotonic()
            if self._memory and sample_at is not None and now >= sample_at:
                if self._memory.exceeded():
                    self._stop(Reason.OOM_KILLED, program, grace_seconds=0.0)
                sample_at = now + self._memory.interval_seconds
            if now >= deadline:
                self._stop(Reason.DEADLINE_EXCEEDED, program)
            if self._stopping and self._kill_at is None:
                self._stop(self._stopping, program)
            if self._kill_at is not None and now >= self._kill_at:
                signal_group(program.pid, signal.SIGKILL)
                kill_descendants()
            self._sleep(wakeup, [deadline, sample_at, self._kill_at])
            self._reap(program.pid)

    def _sleep(self, wakeup: int, alarms: list[float | None]) -> None:
        now = time.monotonic()
        pending = [alarm for alarm in alarms if alarm is not None]
        # An alarm in the past has been acted on; what follows from it is noticed by its own event or in this time.
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
                signal_group(program.pid, signal.SIGTERM)
                signal_group(program.pid, signal.SIGCONT)  # a stopped program could not act on it

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
        """Kill whatever the program left behind; it is gone when its output has ended and no child remains."""
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
            self._writer.write(data)
        else:
            os.close(self._output)
            self._output = None

    def _drain(self, deadline: float) -> None:
        while self._output is not None and (left := deadline - time.monotonic()) > 0:
            select.select([self._output], [], [], left)
            self._read_output()

    def _settle(self, failure: int | None) -> None:
        if failure is not None:
            code = EXIT_NOT_FOUND if failure == errno.ENOENT else EXIT_NOT_EXECUTABLE
            note = f"{self._manifest.argv[0]}: {os.strerror(failure)}"
            self._finish(reason=Reason.START_ERROR, exit_code=code, signal_number=None, note=note)
            return
        exit_code, signal_number = exit_of(self._ended or 0)
        limit = self._manifest.memory_limit_bytes
        peak = max(self._memory.peak_bytes, self._peak_bytes) / limit if self._memory and limit else None
        reason = judge(exit_code, signal_number, stopped_for=self._stopping, peak=peak, tail=self._tail())
        self._finish(reason=reason, exit_code=exit_code, signal_number=signal_number)

    def _tail(self) -> bytes:
        return OutputReader(self._folder.output, self._manifest.segment_bytes).tail(self._manifest.tail_bytes)

    def _finish(self, *, reason: Reason, exit_code: int | None, signal_number: int | None, note: str = "") -> None:
        if note:
            self._writer.write(f"bandmaster: {note}\n".encode())
        self._writer.close()
        progress = self._progress
        progress.phase = (PodPhase.SUCCEEDED if reason is Reason.COMPLETED else PodPhase.FAILED).value
        progress.reason, progress.exit_code, progress.signal = reason.value, exit_code, signal_number
        progress.ended_at = progress.ended_at or time.time()
        tail = self._tail()
        progress.output_tail = tail.decode(errors="replace")
        progress.output_truncated = self._writer.lossy or self._writer.total_bytes > len(tail)
        while not self._recorded():
            # An outcome that is not recorded would be lost, so the pod counts as running until it is.
            time.sleep(_RECORD_AGAIN_SECONDS)

    def _recorded(self) -> bool:
        """Record the end, or let the pod vanish if that is wanted. False: not possible at this time."""
        try:
            manifest = self._folder.read_manifest()
            if manifest is None or manifest.uid != self._manifest.uid:
                return True  # somebody removed the folder by hand: there is nothing left to record it in
            if self._folder.marked(self._folder.deleting, self._manifest.uid):
                self._folder.vanish(self._manifest.uid)
            else:
                self._folder.write_progress(self._progress)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self._writer.discard()  # the outcome, which has the output's tail, is worth more than its log
                self._progress.output_truncated = True
            return False
        return True


def _discard(source: int) -> None:
    try:
        os.read(source, 4096)
    except BlockingIOError:
        return

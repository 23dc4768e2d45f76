"""Records how far a pod got, and at last its end: the supervisor's pen.

In the flow: ``supervisor.py`` tells it of the program's start and end. The end is recorded once nothing of the program
runs any more, and is believed from the moment the lock is given back, so that what a program writes there itself, if it
is of the same user, counts for nothing. An end that cannot be recorded (a full disk) is tried again until it can: as
long, the pod counts as running. If the process dies here, the pod is settled as lost. Standard library only.
"""

import errno
import os
import time

from ..phases import PodPhase, Reason
from .processes import look_at
from .records import Folder, Manifest, Progress
from .segments import OutputReader, OutputWriter

#: Between two tries to record the end on a full disk.
_RECORD_AGAIN_SECONDS = 1.0


class Recorder:
    """Writes one pod's status.

    Args:
        folder: The pod's.
        manifest: What it runs.
        lock: The descriptor of its lock.
    """

    def __init__(self, folder: Folder, manifest: Manifest, lock: int) -> None:
        self.writer = OutputWriter(folder.output, manifest.segment_bytes)
        self._folder = folder
        self._manifest = manifest
        self._lock = lock
        self._progress = Progress(uid=manifest.uid, supervisor_pid=os.getpid())

    def begin(self, program_pid: int) -> None:
        """Record who the program is, before it does anything."""
        own, begun = look_at(os.getpid()), look_at(program_pid)
        self._progress.phase = PodPhase.RUNNING.value
        self._progress.supervisor_identity = own.identity if own else ""
        self._progress.program_pid = program_pid
        self._progress.program_identity = begun.identity if begun else ""
        self._progress.started_at = time.time()
        self._folder.write_progress(self._progress)

    def tail(self) -> bytes:
        """The end of the output so far."""
        return OutputReader(self._folder.output, self._manifest.segment_bytes).tail(self._manifest.tail_bytes)

    def finish(
        self,
        *,
        reason: Reason,
        exit_code: int | None,
        signal_number: int | None,
        ended_at: float,
        duration_seconds: float,
        note: str = "",
    ) -> None:
        """Record the end, or make the pod vanish if it was deleted meanwhile; whatever time it takes.

        Args:
            reason: Why it ended.
            exit_code: The program's, if it has one.
            signal_number: The signal that ended it, if one did.
            ended_at: Unix seconds.
            duration_seconds: How long it ran.
            note: A line for the end of its output; empty: none.
        """
        if note:
            self.writer.write(f"bandmaster: {note}\n".encode())
        self.writer.close()
        progress = self._progress
        progress.phase = (PodPhase.SUCCEEDED if reason is Reason.COMPLETED else PodPhase.FAILED).value
        progress.reason, progress.exit_code, progress.signal = reason.value, exit_code, signal_number
        progress.ended_at, progress.duration_seconds = ended_at, duration_seconds
        tail = self.tail()
        progress.output_tail = tail.decode(errors="replace")
        progress.output_truncated = self.writer.lossy or self.writer.total_bytes > len(tail)
        while not self._recorded():
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
                self._folder.unlock(self._lock)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.writer.discard()  # the outcome, which has the output's tail, is worth more than its log
                self._progress.output_truncated = True
            return False
        return True

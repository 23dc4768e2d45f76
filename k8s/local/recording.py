"""Records a pod's progress and its end, on behalf of the supervisor.

In the flow: ``supervisor.py`` reports the program's start and end. The end is recorded once none of the program's
processes runs any more. Observers believe it only when the lock is released, so a status that a program of the same
user writes itself has no effect. If the end cannot be recorded (a full disk), the recorder retries until it can; until
then the pod counts as running. That of a deleted pod is recorded, too, but tried once: its slot waits for its
disappearance, which comes after one write to disk, whether that succeeds or not. If the process dies here, the pod is
settled as lost. Standard library only.
"""

import contextlib
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
        folder: The pod's folder.
        manifest: The pod's manifest.
        lock: The descriptor of the pod's lock.
    """

    def __init__(self, folder: Folder, manifest: Manifest, lock: int) -> None:
        self.writer = OutputWriter(folder.output, manifest.segment_bytes)
        self._folder = folder
        self._manifest = manifest
        self._lock = lock
        self._progress = Progress(uid=manifest.uid, supervisor_pid=os.getpid())

    def begin(self, program_pid: int) -> None:
        """Record the program's process identity, before the program does anything."""
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
        """Record the end, or make the pod vanish if it was deleted meanwhile; retries until that succeeds.

        Args:
            reason: Why it ended.
            exit_code: The program's exit code, if it has one.
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
        """Record the end, or make the pod vanish if its deletion was requested. False: not possible now."""
        try:
            manifest = self._folder.read_manifest()
            if manifest is None or manifest.uid != self._manifest.uid:
                return True  # somebody removed the folder by hand: there is no place left to record the end
            if self._folder.marked(self._folder.deleting, self._manifest.uid):
                # Its last words, if there is room for them.
                with contextlib.suppress(OSError):
                    self._folder.write_progress(self._progress)
                self._folder.vanish(self._manifest.uid)
            else:
                self._folder.write_progress(self._progress)
                self._folder.unlock(self._lock)
        except OSError as error:
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                self.writer.discard()  # the outcome, which includes the output's tail, matters more than the log
                self._progress.output_truncated = True
            return False
        return True

"""Looks at a pod's folder, and brings to an end what its supervisor no longer can.

Every ``get``, ``list`` and ``watch`` of any process comes through here: a pod that nobody supervises and that has no
outcome is lost; whoever sees it first kills what is left of it and records it as such, under its lock, so that it
happens once. A deletion whose supervisor is gone, or does not move, is finished here in the same way. Dying in the
middle leaves a state that the next look continues from.
"""

import contextlib
import os
import shutil
import time
from pathlib import Path

from ...configs.logger import Logger
from ..errors import PodsUnavailable
from ..phases import PodPhase, Reason
from ..pods import PodOutcome, PodStatus
from .processes import kill_leftovers, kill_recorded
from .records import (
    GONE_PREFIX,
    PREPARED_PREFIX,
    Folder,
    Manifest,
    Progress,
    is_supervised,
    lock_exclusively,
)
from .segments import OutputReader

log = Logger(__name__)

#: Each settles something, or finds the name taken by another pod meanwhile: more than two are hardly ever needed.
_LOOKS = 20
#: A supervisor that has not finished a deletion so long after the grace period hangs, and is killed.
_STUCK_SECONDS = 10.0
#: A prepared folder this old belongs to a creator that died.
_ABANDONED_SECONDS = 60.0


def observe(folder: Folder) -> PodStatus | None:
    """Look at a pod, and settle it if it was lost. None: there is none, and nothing of it runs."""
    for _ in range(_LOOKS):
        # Asked first: what is read afterwards of a pod without a supervisor is its last word.
        supervised = is_supervised(folder)
        manifest = folder.read_manifest()
        if manifest is None:
            return None
        progress = folder.read_progress()
        if supervised and (progress is None or progress.ended):
            # Its supervisor is about to leave; or the program, if it is of the same user, wrote this itself.
            progress = Progress(uid=manifest.uid, phase=PodPhase.RUNNING.value)
        if progress is None:
            return None
        if manifest.uid != progress.uid:
            continue  # another pod took the name between the two reads
        deleting = folder.marked(folder.deleting, manifest.uid)
        if supervised:
            if deleting:
                _press(folder, manifest, progress)
            return _status(folder, manifest, progress, deleting=deleting)
        if progress.ended and not deleting:
            return _status(folder, manifest, progress, deleting=False)
        if not _settle(folder, manifest.uid):
            return _status(folder, manifest, progress, deleting=deleting)
    raise PodsUnavailable(f"the folder {folder.path} is never the same twice")


def request_deletion(folder: Folder, uid: str) -> None:
    """Mark a pod for deletion and wake its supervisor; one that has ended vanishes at once."""
    # FileNotFoundError: it vanished meanwhile, which is what is wanted.
    with contextlib.suppress(FileNotFoundError):
        folder.mark(folder.deleting, uid)
        _wake_supervisor(folder)
    # A supervisor that has recorded the end is about to leave, which only takes it a moment.
    deadline = time.monotonic() + 0.5
    while (progress := folder.read_progress()) and progress.uid == uid and progress.ended:
        if _settle(folder, uid) or time.monotonic() > deadline:
            return
        time.sleep(0.005)


def sweep(root: str, keep_seconds: float) -> None:
    """Remove what vanished pods and dead creators left, and pods that were acknowledged long enough ago."""
    now = time.time()
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(GONE_PREFIX):
                _remove(entry.path)
                continue
            with contextlib.suppress(FileNotFoundError):  # others sweep too
                if entry.name.startswith(PREPARED_PREFIX):
                    if now - entry.stat().st_mtime > _ABANDONED_SECONDS:
                        _remove_abandoned(Folder(entry.path))
                elif now - os.stat(Folder(entry.path).acknowledged).st_mtime > keep_seconds:
                    status = observe(Folder(entry.path))
                    if status is not None and status.acknowledged:
                        request_deletion(Folder(entry.path), status.uid)


def _settle(folder: Folder, uid: str) -> bool:
    """Bring a pod without a supervisor to its end. False: not now, it has one or some of it still runs."""
    descriptor = lock_exclusively(folder)
    if descriptor is None:
        return False
    try:
        # Only now nobody else changes it; and the lock may be that of a pod that had the name before.
        progress = folder.read_progress()
        if progress is None or progress.uid != uid:
            return True
        if not progress.ended:
            if not kill_leftovers(progress.program_pid, progress.program_identity, uid):
                log.error("lost_pod_still_runs", pod=os.path.basename(folder.path), uid=uid)
                return False
            if not folder.marked(folder.deleting, uid):
                _record_lost(folder, progress)
                return True
        if folder.marked(folder.deleting, uid):
            folder.vanish(uid)
        return True
    finally:
        os.close(descriptor)


def _record_lost(folder: Folder, progress: Progress) -> None:
    manifest = folder.read_manifest()
    if manifest is None:
        return
    reader = OutputReader(folder.output, manifest.segment_bytes)
    tail = reader.tail(manifest.tail_bytes)
    progress.phase, progress.reason = PodPhase.FAILED.value, Reason.NODE_LOST.value
    progress.ended_at = time.time()
    progress.duration_seconds = max(0.0, progress.ended_at - (progress.started_at or progress.ended_at))
    progress.output_tail = tail.decode(errors="replace")
    progress.output_truncated = reader.total_bytes() > len(tail)
    folder.write_progress(progress)
    log.warning("pod_lost", pod=os.path.basename(folder.path), uid=progress.uid)


def _press(folder: Folder, manifest: Manifest, progress: Progress) -> None:
    """See to it that a deletion goes on: its asker may have died before it woke the supervisor, which may hang."""
    _wake_supervisor(folder)
    with contextlib.suppress(FileNotFoundError):
        asked_at = os.stat(folder.deleting).st_mtime
        if time.time() - asked_at > manifest.grace_seconds + _STUCK_SECONDS and progress.supervisor_pid:
            kill_recorded(progress.supervisor_pid, progress.supervisor_identity)


def _wake_supervisor(folder: Folder) -> None:
    # OSError: nobody reads (any more), so there is nobody to wake.
    with contextlib.suppress(OSError):
        descriptor = os.open(folder.control, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            os.write(descriptor, b"d")
        finally:
            os.close(descriptor)


def _status(folder: Folder, manifest: Manifest, progress: Progress, *, deleting: bool) -> PodStatus:
    return PodStatus(
        name=os.path.basename(folder.path),
        uid=manifest.uid,
        execution_id=manifest.execution_id,
        attempt=manifest.attempt,
        phase=PodPhase(progress.phase),
        outcome=_outcome(progress),
        created_at=manifest.created_at,
        deleting=deleting,
        acknowledged=folder.marked(folder.acknowledged, manifest.uid),
    )


def _outcome(progress: Progress) -> PodOutcome | None:
    if not progress.ended or progress.reason is None or progress.ended_at is None:
        return None
    return PodOutcome(
        exit_code=progress.exit_code,
        signal=progress.signal,
        reason=Reason(progress.reason),
        started_at=progress.started_at,
        ended_at=progress.ended_at,
        duration_seconds=progress.duration_seconds,
        output_tail=progress.output_tail,
        output_truncated=progress.output_truncated,
    )


def _remove_abandoned(folder: Folder) -> None:
    descriptor = lock_exclusively(folder)
    if descriptor is not None:  # a late supervisor finds the lock taken, and gives up its claim
        _remove(folder.path)
        os.close(descriptor)


def _remove(path: str) -> None:
    # A program may have taken its own folders' permissions away. They don't bind root, who must not follow a link here.
    for directory, names, _ in os.walk(path) if os.geteuid() else ():
        for name in names:
            below = Path(directory, name)
            if not below.is_symlink():
                with contextlib.suppress(OSError):
                    below.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)

"""Reads a pod's folder, and settles the pod if its supervisor no longer can.

Every ``get``, ``list`` and ``watch`` of any process comes through here. A pod without a supervisor and without an
outcome is lost: the first process that sees it kills its remaining processes and records the pod as lost, under its
lock, so that this happens once. A deletion whose supervisor is gone, or hangs, is finished here in the same way. What a
deleted pod said last stays in its renamed folder, for whoever reports its end. A process that dies in the middle leaves
a state that the next observer continues from.
"""

import contextlib
import os
import re
import shutil
import time
from pathlib import Path

from ...configs.logger import Logger
from ...scheduler.model.trace_context import read_environment
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

_UID = re.compile(r"[A-Za-z0-9-]{1,64}", re.ASCII)

#: Each look settles the pod, or finds that another pod took the name meanwhile; more than two are hardly ever needed.
_LOOKS = 20
#: A supervisor is taken to hang, and is killed, if a deletion is unfinished so long after the grace period.
_STUCK_SECONDS = 10.0
#: A prepared folder this old belongs to a creator that died.
_ABANDONED_SECONDS = 60.0


def observe(folder: Folder) -> PodStatus | None:
    """Read a pod, and settle it if it was lost. None: there is no pod, and none of its processes runs."""
    for _ in range(_LOOKS):
        # Checked first: if there is no supervisor now, the records read afterwards are final.
        supervised = is_supervised(folder)
        manifest = folder.read_manifest()
        if manifest is None:
            return None
        progress = folder.read_progress()
        if supervised and (progress is None or progress.ended):
            # Its supervisor is about to exit; or the program, as the same user, wrote this record itself.
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


def look_back(folder: Folder, uid: str) -> PodStatus | None:
    """Read how a pod ended that has disappeared. None: it has not, or its last words are not kept (any more)."""
    gone = folder.gone(uid) if _UID.fullmatch(uid) else None
    manifest, progress = (None, None) if gone is None else (gone.read_manifest(), gone.read_progress())
    if manifest is None or progress is None or not progress.ended:
        return None
    return _status(folder, manifest, progress, deleting=True)


def request_deletion(folder: Folder, uid: str) -> None:
    """Mark a pod for deletion and wake its supervisor; a pod that has ended vanishes at once."""
    # FileNotFoundError: the pod vanished meanwhile, as requested.
    with contextlib.suppress(FileNotFoundError):
        folder.mark(folder.deleting, uid)
        _wake_supervisor(folder)
    # A supervisor that has recorded the end is about to exit, which takes only a moment.
    deadline = time.monotonic() + 0.5
    while (progress := folder.read_progress()) and progress.uid == uid and progress.ended:
        if _settle(folder, uid) or time.monotonic() > deadline:
            return
        time.sleep(0.005)


def sweep(root: str, keep_seconds: float) -> None:
    """Remove the folders of dead creators, pods that were acknowledged long enough ago, and all but the last words of
    those that vanished; where nobody acknowledged their end, these are kept as long.
    """
    now = time.time()
    with os.scandir(root) as entries:
        for entry in entries:
            if entry.name.startswith(GONE_PREFIX):
                _sweep_gone(Folder(entry.path), now - keep_seconds)
                continue
            with contextlib.suppress(FileNotFoundError):  # others sweep too
                if entry.name.startswith(PREPARED_PREFIX):
                    if now - entry.stat().st_mtime > _ABANDONED_SECONDS:
                        _remove_abandoned(Folder(entry.path))
                elif now - os.stat(Folder(entry.path).acknowledged).st_mtime > keep_seconds:
                    status = observe(Folder(entry.path))
                    if status is not None and status.acknowledged:
                        request_deletion(Folder(entry.path), status.uid)


def _sweep_gone(gone: Folder, kept_since: float) -> None:
    try:
        is_kept = not os.path.exists(gone.acknowledged) and os.stat(gone.status).st_mtime > kept_since
    except FileNotFoundError:
        is_kept = False
    for path in (gone.work, gone.tmp) if is_kept else (gone.path,):
        if os.path.lexists(path):
            _remove(path)


def _settle(folder: Folder, uid: str) -> bool:
    """Settle a pod without a supervisor. False: not now, for it has a supervisor or some of its processes still run."""
    descriptor = lock_exclusively(folder)
    if descriptor is None:
        return False
    try:
        # Read again, since only under the lock nobody else writes; another pod may have the folder's name by now.
        progress = folder.read_progress()
        if progress is None or progress.uid != uid:
            return True
        if not progress.ended:
            if not kill_leftovers(progress.program_pid, progress.program_identity, uid):
                log.error("lost_pod_still_runs", pod=os.path.basename(folder.path), uid=uid)
                return False
            if not folder.marked(folder.deleting, uid):
                _record_end(folder, progress, Reason.NODE_LOST)
                return True
            # Its last words, if there is room for them.
            with contextlib.suppress(OSError):
                _record_end(folder, progress, Reason.DELETED)
        if folder.marked(folder.deleting, uid):
            folder.vanish(uid)
        return True
    finally:
        os.close(descriptor)


def _record_end(folder: Folder, progress: Progress, reason: Reason) -> None:
    """Record the end of a pod whose supervisor did not; nobody knows its exit code."""
    manifest = folder.read_manifest()
    if manifest is None:
        return
    reader = OutputReader(folder.output, manifest.segment_bytes)
    tail = reader.tail(manifest.tail_bytes)
    progress.phase, progress.reason = PodPhase.FAILED.value, reason.value
    progress.ended_at = time.time()
    progress.duration_seconds = max(0.0, progress.ended_at - (progress.started_at or progress.ended_at))
    progress.output_tail = tail.decode(errors="replace")
    progress.output_truncated = reader.total_bytes() > len(tail)
    folder.write_progress(progress)
    if reason is Reason.NODE_LOST:
        log.warning("pod_lost", pod=os.path.basename(folder.path), uid=progress.uid)


def _press(folder: Folder, manifest: Manifest, progress: Progress) -> None:
    """Push a deletion on: its requester may have died before waking the supervisor, or the supervisor may hang."""
    _wake_supervisor(folder)
    with contextlib.suppress(FileNotFoundError):
        asked_at = os.stat(folder.deleting).st_mtime
        if time.time() - asked_at > manifest.grace_seconds + _STUCK_SECONDS and progress.supervisor_pid:
            kill_recorded(progress.supervisor_pid, progress.supervisor_identity)


def _wake_supervisor(folder: Folder) -> None:
    # OSError: no supervisor reads (any more), so there is none to wake.
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
        trace=read_environment(manifest.env),
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
    if descriptor is not None:  # a supervisor that starts late finds the lock taken, and gives up its claim
        _remove(folder.path)
        os.close(descriptor)


def _remove(path: str) -> None:
    # A program may have removed permissions from its folders. Root can ignore them, and must not follow a link here.
    for directory, names, _ in os.walk(path) if os.geteuid() else ():
        for name in names:
            below = Path(directory, name)
            if not below.is_symlink():
                with contextlib.suppress(OSError):
                    below.chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)

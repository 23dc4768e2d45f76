"""Implements the pod interface on this machine. All state is in the folder of all pods.

``create`` is the saga's step, ``watch`` feeds ``watch_completions``; any number of processes may use the same folder
at once, and each may die at any time. Images are ignored here. Unless the settings name another user or a sandbox, the
program runs as the worker's own user with all its rights: run only trusted programs then.
"""

import builtins
import os
import re
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import PodConflict, PodNotFound, PodsUnavailable
from ..output import Closing, Piece
from ..pods import PodChange, PodSpec, PodStatus
from ..spec import pod_prefix
from .launching import launch
from .limits import LocalLimits
from .place import name_of
from .records import Folder
from .segments import OutputReader
from .settling import look_back, observe, request_deletion, sweep
from .watching import watch

_NAME = re.compile(r"exec-[a-z0-9-]{1,58}", re.ASCII)
_SWEEP_SECONDS = 5.0
_FOLLOW_SECONDS = 0.05


@contextmanager
def _reporting_unavailable() -> Generator[None]:
    """Convert OSErrors for the callers: a full disk, too many open files or a removed root may all be temporary."""
    try:
        yield
    except OSError as error:
        raise PodsUnavailable(f"the local pods cannot be reached: {error}") from error


class LocalPods:
    """Pods as child processes of this machine.

    Args:
        root: The folder that contains their folders; made if it is missing. Processes that share it share the pods.
        limits: The limits of all pods created through this object.
    """

    def __init__(self, root: Path, limits: LocalLimits | None = None) -> None:
        self._root = str(root.absolute() / "pods")
        self._limits = limits or LocalLimits()
        self._sweep_lock = threading.Lock()
        self._swept_at = 0.0

    @_reporting_unavailable()
    def create(self, spec: PodSpec, is_wanted: Callable[[], bool] = lambda: True) -> PodStatus:
        """See ``Pods.create``. Only the adoption is retried here."""
        self._make_root()
        folder = Folder(os.path.join(self._root, spec.name))
        # The second round adopts the pod that took the name in between; the third is for when that is gone again.
        for _ in range(3):
            existing = observe(folder)
            if existing is not None:
                return _adopt(existing, spec)
            if launch(spec, folder, self._limits):
                break  # never launch twice: while this process slept, the pod may have ended and been removed
        created = observe(folder)
        if created is None:
            raise PodConflict(spec.name, "something that is no pod has its name, or it was deleted meanwhile")
        return _adopt(created, spec)

    @_reporting_unavailable()
    def get(self, name: str) -> PodStatus | None:
        """See ``Pods.get``."""
        return observe(folder) if (folder := self._named(name)) else None

    @_reporting_unavailable()
    def attempts(self, execution_id: str) -> builtins.list[PodStatus]:
        """See ``Pods.attempts``."""
        self._make_root()
        prefix = pod_prefix(execution_id)
        return self._statuses(name for name in os.listdir(self._root) if name.removeprefix(prefix).isdecimal())

    @_reporting_unavailable()
    def last_words(self, name: str, uid: str) -> PodStatus | None:
        """See ``Pods.last_words``."""
        return look_back(folder, uid) if (folder := self._named(name)) else None

    def waits_for(self, name: str) -> str:
        """See ``Pods.waits_for``. Local pods wait for nothing."""
        return ""

    def watch(self, window_seconds: float) -> Iterator[PodChange]:
        """See ``Pods.watch``."""
        with _reporting_unavailable():
            self._make_root()
            self._sweep()
            yield from watch(self._root, window_seconds)

    def logs(self, name: str, *, follow: bool = False, tail_bytes: int | None = None) -> Iterator[bytes]:
        """See ``Pods.logs``. Where output beyond its limit was dropped, a line says how much."""
        start, pieces = self._read(name, Closing(), follow=follow, after=None, tail_bytes=tail_bytes)
        return _with_gaps(pieces, start)

    def follow(
        self, name: str, closing: Closing, *, after: int | None = None, tail_bytes: int | None = None
    ) -> Iterator[Piece]:
        """See ``Pods.follow``."""
        return self._read(name, closing, follow=True, after=after, tail_bytes=tail_bytes)[1]

    @_reporting_unavailable()
    def delete(self, name: str, *, uid: str | None = None) -> bool:
        """See ``Pods.delete``."""
        folder = self._named(name)
        status = observe(folder) if folder else None
        if folder is None or status is None or (uid is not None and status.uid != uid):
            return False
        request_deletion(folder, status.uid)
        self._sweep()
        return True

    @_reporting_unavailable()
    def acknowledge(self, name: str, uid: str) -> bool:
        """See ``Pods.acknowledge``."""
        folder = self._named(name)
        status = observe(folder) if folder else None
        if folder is None or status is None or status.uid != uid or not status.phase.ended:
            return False
        if not status.acknowledged:
            try:
                folder.mark(folder.acknowledged, uid)
            except FileNotFoundError:
                return False  # deleted meanwhile
        return True

    def ping(self) -> None:
        """See ``Pods.ping``."""
        # A mere check makes no folder: if it does not exist yet, its nearest existing parent has to be writable.
        root = Path(self._root)
        there = next(folder for folder in (root, *root.parents) if folder.exists())
        if not there.is_dir() or not os.access(there, os.R_OK | os.W_OK | os.X_OK):
            raise PodsUnavailable(f"the folder {there} is not writable")

    @_reporting_unavailable()
    def place(self) -> str:
        """See ``Pods.place``."""
        self._make_root()
        return name_of(self._root)

    def describe(self) -> str:
        """See ``Pods.describe``."""
        return f"local processes under {self._root}"

    @_reporting_unavailable()
    def list(self) -> list[PodStatus]:
        """See ``Pods.list``."""
        self._make_root()
        self._sweep()
        return self._statuses(os.listdir(self._root))

    @_reporting_unavailable()
    def _read(
        self, name: str, closing: Closing, *, follow: bool, after: int | None, tail_bytes: int | None
    ) -> tuple[int, Iterator[Piece]]:
        """Where an output is read from, and its pieces."""
        folder = self._named(name)
        manifest = folder.read_manifest() if folder else None
        if folder is None or manifest is None:
            raise PodNotFound(name)
        start = after
        if start is None:
            total_bytes = OutputReader(folder.output, manifest.segment_bytes).total_bytes()
            start = 0 if tail_bytes is None else max(0, total_bytes - tail_bytes)
        return start, _read_output(folder, manifest.uid, manifest.segment_bytes, start, closing, follow=follow)

    def _statuses(self, names: Iterable[str]) -> builtins.list[PodStatus]:
        folders = (self._named(name) for name in sorted(names))
        seen = (observe(folder) for folder in folders if folder is not None)
        return [status for status in seen if status is not None]

    def _named(self, name: str) -> Folder | None:
        # The pattern excludes paths outside of the root and hidden folders, whatever a caller passes.
        return Folder(os.path.join(self._root, name)) if _NAME.fullmatch(name) else None

    def _make_root(self) -> None:
        try:
            os.makedirs(self._root, mode=0o700, exist_ok=True)
            if self._limits.user is not None:
                os.chmod(self._root, 0o711)
        except OSError as error:
            raise PodsUnavailable(
                f"the folder {self._root} cannot be made: {error.strerror}", pod_may_exist=False
            ) from error

    def _sweep(self) -> None:
        with self._sweep_lock:
            if time.monotonic() - self._swept_at < _SWEEP_SECONDS:
                return
            self._swept_at = time.monotonic()
        sweep(self._root, self._limits.keep_seconds)


def _adopt(status: PodStatus, spec: PodSpec) -> PodStatus:
    if (status.execution_id, status.attempt) != (spec.execution_id, spec.attempt):
        raise PodConflict(spec.name, f"its name belongs to execution {status.execution_id} attempt {status.attempt}")
    if status.deleting:
        raise PodConflict(spec.name, "the pod of this attempt is being deleted")
    return status


def _read_output(
    folder: Folder, uid: str, segment_bytes: int, start: int, closing: Closing, *, follow: bool
) -> Iterator[Piece]:
    reader, position = OutputReader(folder.output, segment_bytes), start
    while not closing.is_closed:
        with _reporting_unavailable():
            # Checked before reading, so that everything written before the end is surely read.
            status = observe(folder) if follow else None
        over = status is None or status.uid != uid or status.phase.ended
        if follow and (status is None or status.uid != uid):
            # It was deleted: its last words are kept apart.
            reader = OutputReader(folder.gone(uid).output, segment_bytes)
        while not closing.is_closed:
            with _reporting_unavailable():
                data, begins = reader.read(position)
            if not data:
                break
            yield Piece(data, begins)
            position = begins + len(data)
        if over or closing.wait(_FOLLOW_SECONDS):
            return


def _with_gaps(pieces: Iterator[Piece], position: int) -> Iterator[bytes]:
    """The bytes of an output, with a line in place of those that were dropped."""
    for piece in pieces:
        if piece.position > position:
            yield f"\n[bandmaster: {piece.position - position} bytes of output were dropped here]\n".encode()
        yield piece.data
        position = piece.end

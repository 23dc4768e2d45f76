"""Reads and writes the files in the folder of one attempt, which hold the whole state of a local pod.

A folder is prepared under a hidden name and claimed by a rename, so a pod exists completely or not at all, and once.
Every later file appears by a rename too. All files belong to the worker, except the program's folders ``work`` and
``tmp``, which may belong to another user or be mounted into a sandbox. The supervisor holds an exclusive lock on
``lock`` until the end is recorded: the kernel releases it however the supervisor dies, and unlike a process number it
cannot be reused. Records are plain classes, since importing ``dataclasses`` would cost the supervisor 20 ms.
"""

import contextlib
import fcntl
import json
import os

from ..phases import PodPhase

PREPARED_PREFIX = ".new-"
GONE_PREFIX = ".gone-"
#: In the environment of the program and its descendants: identifies them when their supervisor is gone.
UID_VARIABLE = "EXECUTION_POD_UID"


class Manifest:
    """A pod's identity, command and limits; written once (``spec.json``)."""

    def __init__(
        self,
        *,
        uid: str,
        execution_id: str,
        attempt: int,
        action: str,
        user_id: str | None,
        created_at: float,
        argv: list[str],
        env: dict[str, str],
        timeout_seconds: float,
        grace_seconds: float,
        memory_limit_bytes: int | None,
        cpu_cores: float | None,
        segment_bytes: int,
        tail_bytes: int,
        user: tuple[int, int] | None = None,
        sandboxed: bool = False,
        max_processes: int | None = None,
        max_open_files: int | None = None,
        disk_limit_bytes: int | None = None,
    ) -> None:
        self.uid = uid
        self.execution_id = execution_id
        self.attempt = attempt
        self.action = action
        self.user_id = user_id
        self.created_at = created_at
        self.argv = argv
        self.env = env
        self.timeout_seconds = timeout_seconds
        self.grace_seconds = grace_seconds
        self.memory_limit_bytes = memory_limit_bytes
        self.cpu_cores = cpu_cores
        self.segment_bytes = segment_bytes
        self.tail_bytes = tail_bytes
        #: User and group of the program; None: those of its worker.
        self.user = user
        self.sandboxed = sandboxed
        self.max_processes = max_processes
        self.max_open_files = max_open_files
        self.disk_limit_bytes = disk_limit_bytes


class Progress:
    """A pod's state; written anew at each step (``status.json``). Times are unix seconds."""

    def __init__(
        self,
        *,
        uid: str,
        phase: str = PodPhase.PENDING.value,
        supervisor_pid: int = 0,
        supervisor_identity: str = "",
        program_pid: int = 0,
        program_identity: str = "",
        started_at: float | None = None,
        ended_at: float | None = None,
        duration_seconds: float = 0.0,
        exit_code: int | None = None,
        signal: int | None = None,
        reason: str | None = None,
        output_tail: str = "",
        output_truncated: bool = False,
    ) -> None:
        self.uid = uid
        self.phase = phase
        self.supervisor_pid = supervisor_pid
        self.supervisor_identity = supervisor_identity
        self.program_pid = program_pid
        self.program_identity = program_identity
        self.started_at = started_at
        self.ended_at = ended_at
        self.duration_seconds = duration_seconds
        self.exit_code = exit_code
        self.signal = signal
        self.reason = reason
        self.output_tail = output_tail
        self.output_truncated = output_truncated

    @property
    def ended(self) -> bool:
        """Whether this is the pod's final record."""
        return PodPhase(self.phase).ended


#: Fields that a newer release added are ignored: its pods are still recognised as pods, and not started twice.
_OF_MANIFEST = frozenset(Manifest.__init__.__code__.co_varnames)
_OF_PROGRESS = frozenset(Progress.__init__.__code__.co_varnames)


class Folder:
    """The folder of one pod, present or not."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.spec = os.path.join(path, "spec.json")
        self.status = os.path.join(path, "status.json")
        self.lock = os.path.join(path, "lock")
        self.control = os.path.join(path, "control")
        self.deleting = os.path.join(path, "deleting")
        self.acknowledged = os.path.join(path, "acknowledged")
        self.errors = os.path.join(path, "supervisor.err")
        self.output = os.path.join(path, "output")
        self.work = os.path.join(path, "work")
        self.tmp = os.path.join(path, "tmp")
        #: The items that the program works on, and their token; only the program's user may read it.
        self.items = os.path.join(path, "items.json")

    @property
    def root(self) -> str:
        """The folder of all pods."""
        return os.path.dirname(self.path)

    def read_manifest(self) -> Manifest | None:
        """Read the pod's manifest; None: there is no pod."""
        try:
            written = json.loads(_read(self.spec) or "{}")
            return Manifest(**{name: written[name] for name in written if name in _OF_MANIFEST})
        except (ValueError, TypeError):  # no file, or not a pod's
            return None

    def read_progress(self) -> Progress | None:
        """Read the pod's state; None: there is no pod."""
        try:
            written = json.loads(_read(self.status) or "{}")
            progress = Progress(**{name: written[name] for name in written if name in _OF_PROGRESS})
            PodPhase(progress.phase)
            return progress
        except (ValueError, TypeError):
            return None

    def write_manifest(self, manifest: Manifest) -> None:
        """Write the pod's manifest, durably."""
        write_atomically(self.spec, json.dumps(vars(manifest)))

    def write_progress(self, progress: Progress) -> None:
        """Write the pod's state, durably once it has ended, and wake the watches."""
        write_atomically(self.status, json.dumps(vars(progress)), durable=progress.ended)
        announce(self.root)

    def unlock(self, descriptor: int) -> None:
        """Release the pod's lock, and wake the watches: only from now on they believe its end."""
        fcntl.flock(descriptor, fcntl.LOCK_UN)
        with contextlib.suppress(FileNotFoundError):
            os.utime(self.path)
        announce(self.root)

    def marked(self, marker: str, uid: str) -> bool:
        """Whether a marker (``deleting``, ``acknowledged``) is set for the pod with this uid."""
        return _read(marker) == uid

    def mark(self, marker: str, uid: str) -> None:
        """Set a marker. It holds the pod's uid, since another pod may have taken the folder's name by now."""
        write_atomically(marker, uid)
        announce(self.root)

    def vanish(self, uid: str) -> None:
        """Make the pod disappear at once, under its lock only. Its renamed folder is removed later by a sweep."""
        os.rename(self.path, self.gone(uid).path)

    def gone(self, uid: str) -> "Folder":
        """The renamed folder of a pod that has disappeared."""
        return Folder(os.path.join(self.root, GONE_PREFIX + uid))


def lock_exclusively(folder: Folder) -> int | None:
    """Take a pod's lock; the caller closes the descriptor. None: another process has it, or there is no pod."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_supervised(folder: Folder) -> bool:
    """Whether a process holds the pod's lock: its supervisor, or for a moment a process that settles the pod."""
    try:
        descriptor = os.open(folder.lock, os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # A shared lock, so that simultaneous observers do not take each other for a supervisor.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def announce(root: str) -> None:
    """Tell all watches that something changed, by the root folder's modification time."""
    os.utime(root)


def write_atomically(path: str, text: str, *, durable: bool = True) -> None:
    """Replace a file, so that readers see it complete, old or new; durable: also after a power failure."""
    temporary = f"{path}.{os.getpid()}.tmp"
    with open(temporary, "w", encoding="utf-8", opener=_owners_alone) as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    os.rename(temporary, path)
    if durable:
        directory = os.open(os.path.dirname(path), os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _owners_alone(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None

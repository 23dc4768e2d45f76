"""The limits of all local pods, determined and checked once per process: bounds, the programs' user, their sandbox.

In the flow: ``backend.py`` makes them from the settings when a worker starts. If this machine cannot provide them, the
worker stops with the reason, instead of failing each execution. ``launching.py`` writes them into each pod's
specification, and only that counts from then on: a pod keeps the limits that it was created with.
"""

import os
import pwd
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ...configs.local import LocalSettings
from ..errors import BackendNotAvailable, PodRejected
from ..quantity import memory_bytes
from .sandbox import Sandbox, sandbox_of

_STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def base_python() -> str:
    """Find the interpreter beneath any virtual environment, so that programs don't see the worker's packages."""
    candidate = Path(sys.base_prefix, "bin", f"python{sys.version_info.major}.{sys.version_info.minor}")
    return str(candidate) if candidate.exists() else sys.executable


def default_search_path() -> str:
    """Compose the PATH of programs: the system's folders, then the interpreter's."""
    return f"{_STANDARD_PATH}:{Path(base_python()).parent}"


@dataclass(frozen=True, slots=True)
class ProgramUser:
    """The user and the group that programs run as."""

    uid: int
    gid: int

    def unreachable(self, path: Path) -> Path | None:
        """The first folder of a path that this user may not enter, if any; supplementary groups don't count."""
        return next((folder for folder in _folders(path) if not self._may_enter(folder.stat())), None)

    def _may_enter(self, stat: os.stat_result) -> bool:
        if stat.st_uid == self.uid:
            return bool(stat.st_mode & 0o100)
        return bool(stat.st_mode & (0o010 if stat.st_gid == self.gid else 0o001))


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalLimits:
    """The limits of all local pods.

    Args:
        grace_seconds: The time between TERM and KILL.
        output_limit_bytes: How much of a program's output is kept on disk: its beginning and its end.
        tail_bytes: How much of the output's end is in the outcome.
        keep_seconds: How long a pod is kept after it was acknowledged, for its logs and files.
        search_path: The programs' PATH.
        max_processes: How many processes and threads a program may add to those that its user has.
        max_open_files: The most open files of each process.
        disk_limit_bytes: The size limit of the program's folders together, and of each file that it writes.
        user: The user that programs run as; None: the worker's.
        sandbox: The sandbox that they are started in; None: none.
    """

    grace_seconds: float = 2.0
    output_limit_bytes: int = 1 << 20
    tail_bytes: int = 8 << 10
    keep_seconds: float = 3600.0
    search_path: str = default_search_path()
    max_processes: int = 1_024
    max_open_files: int = 4_096
    disk_limit_bytes: int = 10 << 30
    user: ProgramUser | None = None
    sandbox: Sandbox | None = None

    @property
    def python(self) -> str:
        """The interpreter of scripts: the worker's base interpreter if their user can reach it, else ``python3``."""
        own = base_python()
        reachable = self.user is None or self.user.unreachable(Path(own).parent) is None
        return own if reachable else "python3"


def limits_of(settings: LocalSettings, root: Path) -> LocalLimits:
    """Make the limits that the settings ask for.

    Args:
        settings: The settings of local pods.
        root: The folder that contains the pods' folders.

    Raises:
        BackendNotAvailable: If this machine, or this worker's user, cannot provide them.
    """
    try:
        disk_limit_bytes = memory_bytes(settings.disk_limit)
    except PodRejected as error:
        raise BackendNotAvailable(f"local.disk_limit: {error}") from error
    return LocalLimits(
        max_processes=settings.max_processes,
        max_open_files=settings.max_open_files,
        disk_limit_bytes=disk_limit_bytes,
        user=_user(settings.run_as, root) if settings.run_as else None,
        sandbox=sandbox_of(settings.sandbox_readable, base_python()) if settings.sandbox == "bubblewrap" else None,
    )


def _user(name: str, root: Path) -> ProgramUser:
    if os.geteuid() != 0:
        raise BackendNotAvailable(f"local.run_as is {name!r}, but only a worker that runs as root may change users")
    try:
        found = pwd.getpwuid(int(name)) if name.isdecimal() else pwd.getpwnam(name)
    except KeyError:
        raise BackendNotAvailable(f"local.run_as: this machine has no user {name!r}") from None
    if found.pw_uid == 0:
        raise BackendNotAvailable(f"local.run_as: {name!r} is root")
    user = ProgramUser(found.pw_uid, found.pw_gid)
    if closed := user.unreachable(root.absolute()):
        raise BackendNotAvailable(
            f"local.run_as: user {name!r} may not enter {closed}: "
            "open it (chmod o+x), or name another folder with BANDMASTER_PATHS__VAR_DIR"
        )
    return user


def _folders(path: Path) -> Iterator[Path]:
    yield from (folder for folder in (*reversed(path.parents), path) if folder.is_dir())

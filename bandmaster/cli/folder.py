"""Checks the data folder of `bandmaster up` before anything starts, and reports once what cannot be written, and why.

In the flow: `up` calls this first. Otherwise three processes would hit the same problem, report it in different ways,
and be killed while they wait for a server that cannot start. The checks leave nothing behind except the folder itself,
which the processes would make anyway.
"""

import errno
import os
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

from bandmaster.cli.diagnosis import diagnosis
from bandmaster.cli.exits import CommandFailed, WrongUsage
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import (
    LOCK_NAME,
    connect,
    embedded_folder,
    embedded_process,
    embedded_socket,
)

ROOM_BYTES: Final = 1 << 20
"""The space that has to be free: a disk with less would be full in a moment."""

ENDING_SECONDS: Final = 1.0
"""A server that was killed may hold its lock a moment longer."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
_ELSEWHERE: Final = "name another folder with BANDMASTER_PATHS__VAR_DIR"


def refuse_a_second(settings: Settings) -> None:
    """Refuse to start if a server already runs for this folder, whether it answers or not.

    Raises:
        CommandFailed: If a server runs and answers.
        QueueUnavailable: If a server runs and does not answer; says why.
    """
    if settings.redis.url is not None:
        return
    runs = embedded_process(settings) is not None
    try:
        connect(settings, wait_seconds=ENDING_SECONDS if runs else 0).close()
    except QueueUnavailable as error:
        if embedded_process(settings) is None:
            return
        raise diagnosis(settings, error) from error
    raise CommandFailed(
        f"a server runs already for this folder ({embedded_socket(settings)}): use it, end it first, "
        f"or set another BANDMASTER_PATHS__VAR_DIR"
    )


def make_folder(settings: Settings) -> None:
    """Make the folder for data, and check that the processes will be able to write in it.

    Raises:
        WrongUsage: If not; names the folder or file, the cause, and what to do.
    """
    data = settings.paths.absolute
    server = embedded_folder(settings)
    log = server / "appendonlydir"
    _try(data, lambda: data.mkdir(parents=True, exist_ok=True))
    folders, files = [data], list[Path]()
    if settings.k8s.backend == "local":
        folders.append(data / "pods")
    if settings.redis.url is None:
        folders += [server, log]
        files.append(server / LOCK_NAME)
    for folder in filter(os.path.lexists, folders):
        _try(folder, partial(_fill, folder))
    if settings.redis.url is None and log.exists():
        files += log.iterdir()
    for file in filter(os.path.lexists, files):
        _try(file, partial(_open, file))


def _fill(folder: Path) -> None:
    with tempfile.TemporaryFile(dir=folder) as tried:
        tried.write(bytes(ROOM_BYTES))
        tried.flush()


def _open(file: Path) -> None:
    os.close(os.open(file, os.O_WRONLY | os.O_APPEND))


def _try(path: Path, write: Callable[[], None]) -> None:
    try:
        write()
    except OSError as error:
        if error.errno in _FULL:
            problem, remedy = f"the disk is full at {str(path)!r}", "make room on it"
        else:
            problem, remedy = f"the data of `bandmaster up`, {str(path)!r}, cannot be written", "make it writable"
        raise WrongUsage(f"{problem} ({error.strerror}): {remedy}, or {_ELSEWHERE}") from None

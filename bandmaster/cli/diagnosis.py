"""Finds why the server does not answer: it does not run, hangs, refuses, lost its socket, or is another user's.

In the flow: `opening.opened` calls this when connecting failed. It connects to the socket once more, without a client,
for the system's error, and chooses the advice for the user by that.
"""

import os
import pwd
import socket
from pathlib import Path
from typing import Final

import redis

from bandmaster.configs.redaction import redacted_url
from bandmaster.configs.settings import Settings
from bandmaster.scheduler.model.errors import QueueUnavailable
from bandmaster.scheduler.server.connection import embedded_folder, embedded_process, embedded_socket

_DISK: Final = "MISCONF"
"""The error of a server that cannot write to its disk."""


def diagnosis(settings: Settings, error: QueueUnavailable) -> QueueUnavailable:
    """The error to raise instead of the one from connecting."""
    cause, url = error.__cause__, settings.redis.url
    if isinstance(cause, redis.ResponseError | redis.AuthenticationError):
        full = f"; its disk is full or cannot be written: {embedded_folder(settings)}" if url is None else ""
        return QueueUnavailable(f"the server refuses: {cause}{full if _DISK in str(cause) else ''}")
    if url is not None:
        if isinstance(cause, redis.TimeoutError):
            problem = f"the server did not answer in time: it hangs, or the network does ({cause})"
            return QueueUnavailable(problem, url=redacted_url(url))
        return error
    return QueueUnavailable(_of_socket(settings))


def _of_socket(settings: Settings) -> str:
    path, process = embedded_socket(settings), embedded_process(settings)
    try:
        with socket.socket(socket.AF_UNIX) as tried:
            tried.connect(os.fspath(path))
    except PermissionError:
        return (
            f"the server of this folder is {_owner(path)}'s: {embedded_folder(settings)} cannot be entered; work as "
            "that user, or set another BANDMASTER_PATHS__VAR_DIR, or name a server with BANDMASTER_REDIS__URL"
        )
    except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
        if process is not None:
            return (
                f"the server of this folder runs as process {process}, but its socket {path} was deleted: end it "
                f"(Ctrl-C where it was started, or `kill {process}`: it saves its data), and start it again"
            )
        return (
            f"no server runs for this folder (no answer at {path}): start everything with `bandmaster up`, or name a "
            "server with BANDMASTER_REDIS__URL"
        )
    except OSError as error:
        return f"the server of this folder cannot be reached at {path}: {error.strerror}"
    running = "" if process is None else f" as process {process}"
    return f"the server of this folder runs{running} but does not answer: it hangs or is stopped"


def _owner(path: Path) -> str:
    """The owner of the nearest parent folder that can be read."""
    for folder in path.parents:
        try:
            uid = folder.stat().st_uid
        except OSError:
            continue
        try:
            return f"user {pwd.getpwuid(uid).pw_name}"
        except KeyError:
            return f"user {uid}"
    return "another user"

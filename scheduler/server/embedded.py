"""``python -m bandmaster.scheduler.server.embedded``: the embedded server, the Procfile's `redis`.

The process locks its data folder and becomes valkey-server. SIGTERM and SIGINT then end it with its data saved, and so
does the end of the process that started it (Linux). If it is killed, at most the last second of writes is lost, and the
next start takes over: the lock ends with the process, and the leftover socket file is replaced. If
``BANDMASTER_REDIS__URL`` is set, no embedded server is needed: the process logs that and waits for a signal, since a
process manager would end all processes once one of them ends.
"""

import fcntl
import os
import signal
import sys
import time
from pathlib import Path
from typing import Final, NoReturn

from ...configs.errors import SettingsError
from ...configs.logger import Logger
from ...configs.logging import configure_logging
from ...configs.redaction import redacted_url
from ...configs.settings import Settings, load_settings
from ..model.errors import QueueUnavailable
from .connection import LOCK_NAME, embedded_folder, embedded_socket
from .valkey import become_server, end_with_parent, server_binary, server_options

EXIT_FAILED: Final = 1
EXIT_ALREADY_RUNNING: Final = 3

_LOCK_SECONDS: Final = 1.0
_POLL_SECONDS: Final = 0.05

_log = Logger("bandmaster.scheduler.server.embedded")  # not __name__, which is __main__ when run as a program


def main() -> None:
    """Become the embedded server, or write why not and exit."""
    try:
        settings = load_settings()
    except SettingsError as error:
        _stop(str(error), EXIT_FAILED)
    configure_logging(settings.logging)
    if settings.redis.url is not None:
        _wait_to_be_ended(settings.redis.url)
    try:
        serve(settings)
    except QueueUnavailable as error:
        _stop(str(error), EXIT_FAILED)
    except OSError as error:
        _stop(f"cannot write {error.filename or embedded_folder(settings)}: {error.strerror}", EXIT_FAILED)


def serve(settings: Settings) -> NoReturn:
    """Lock the data folder and become its server; exit with 3 if another server holds the lock."""
    server_binary()  # fails before anything is written
    folder = embedded_folder(settings)
    _private_folder(folder)
    lock = _locked(folder / LOCK_NAME)
    socket = embedded_socket(settings)
    if socket.parent != folder:
        _private_folder(socket.parent)
        _log.warning(
            "embedded_socket_elsewhere", socket=str(socket), reason=f"the path under {folder} is too long for a socket"
        )
    # This process holds the lock, so an existing socket file was left by a server that was killed.
    socket.unlink(missing_ok=True)
    # The server keeps the descriptor open: the lock shows that it lives.
    os.set_inheritable(lock, True)
    _log.info("embedded_starting", socket=str(socket), folder=str(folder))
    become_server(server_options(socket=socket, folder=folder))


def _private_folder(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    folder.chmod(0o700)


def _locked(path: Path) -> int:
    """Lock the file, write this process's id into it and return its descriptor."""
    lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    deadline = time.monotonic() + _LOCK_SECONDS
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            # A killed server's child, which rewrites the log, may hold the lock a moment longer.
            if time.monotonic() < deadline:
                time.sleep(_POLL_SECONDS)
                continue
            pid = os.pread(lock, 20, 0).decode(errors="replace").strip()
            _stop(
                f"already running as process {pid or 'unknown'} on {path.parent}; use it, or end it first",
                EXIT_ALREADY_RUNNING,
            )
        os.ftruncate(lock, 0)
        os.pwrite(lock, str(os.getpid()).encode(), 0)
        return lock


def _wait_to_be_ended(url: str) -> NoReturn:
    end_with_parent()
    ends = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, ends)
    _log.info("embedded_not_needed", url=redacted_url(url))
    signal.sigwait(ends)
    raise SystemExit(0)


def _stop(problem: str, code: int) -> NoReturn:
    sys.stderr.write(f"bandmaster: embedded server: {problem}\n")
    raise SystemExit(code)


if __name__ == "__main__":
    main()

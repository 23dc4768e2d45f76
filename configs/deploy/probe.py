"""The probe that the kubelet runs in a container to see whether its processes still make progress.

``probe.py alive|ready [SECONDS]`` checks the health files (pulses): each process of the container keeps a locked file
in the folder that BANDMASTER_PATHS__PULSE_DIR names, and rewrites it as long as it makes progress. A file without a
lock belongs to a process that is gone, as after a restart of the container, and is ignored. `alive`: there is a pulse,
and none is older than SECONDS. `ready`: in addition, each says that the server answered; this is not part of `alive`,
since a restart does not help when the server is down.

``probe.py server-alive|server-ready [PORT]`` asks the Valkey of this pod: any answer shows that it is alive, but an
answer while it still loads its data does not make it ready. The probe uses the standard library only, to start quickly.
"""

import fcntl
import os
import socket
import sys
import time
from pathlib import Path
from typing import Final

STALE_SECONDS: Final = 60.0
PULSE_FOLDER_VARIABLE: Final = "BANDMASTER_PATHS__PULSE_DIR"
PORT: Final = 6379
SERVER_SECONDS: Final = 3.0
READY: Final = b"ready"


class Unwell(Exception):
    """A check failed; the kubelet shows the message in the pod's events."""


def check_pulses(folder: Path, stale_seconds: float, *, ready: bool) -> None:
    """Check that every process of this container has a fresh pulse.

    Raises:
        Unwell: If a pulse is too old, or there is none.
    """
    pulses = 0
    for path in sorted(folder.glob("*.pulse")):
        try:
            with path.open("r+b") as file:
                if not _is_locked(file.fileno()):
                    continue
                age_seconds = time.time() - os.fstat(file.fileno()).st_mtime
                word = file.read(len(READY))
        except FileNotFoundError:
            continue  # the process ended at this moment
        pulses += 1
        if age_seconds > stale_seconds:
            raise Unwell(f"process {path.stem} has made no progress for {age_seconds:.0f} s")
        if ready and word != READY:
            raise Unwell(f"process {path.stem} waits for the Redis server")
    if not pulses:
        raise Unwell("no process has started to work yet")


def _is_locked(descriptor: int) -> bool:
    try:
        # A shared lock, so that two probes at the same time do not take each other for the owner.
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def check_server(port: int, *, ready: bool) -> None:
    """Check that the server answers.

    Raises:
        Unwell: If it does not.
    """
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=SERVER_SECONDS) as connection:
            connection.sendall(b"PING\r\n")
            answer = connection.recv(128)
    except OSError as error:
        raise Unwell(f"the server does not answer: {error}") from error
    if not answer:
        raise Unwell("the server closed the connection without an answer")
    if ready and answer.startswith((b"-LOADING", b"-MASTERDOWN")):
        raise Unwell(f"the server is not ready: {answer.decode(errors='replace').strip()}")


def main(arguments: list[str]) -> int:
    """Run one check and return the exit code."""
    try:
        match arguments:
            case ["server-alive" | "server-ready" as what, *port] if len(port) <= 1:
                check_server(int(port[0]) if port else PORT, ready=what == "server-ready")
            case ["alive" | "ready" as what, *seconds] if len(seconds) <= 1:
                folder = os.environ.get(PULSE_FOLDER_VARIABLE)
                if not folder:
                    raise Unwell(f"{PULSE_FOLDER_VARIABLE} is not set")
                check_pulses(Path(folder), float(seconds[0]) if seconds else STALE_SECONDS, ready=what == "ready")
            case _:
                sys.stderr.write("usage: probe.py alive|ready [SECONDS] | server-alive|server-ready [PORT]\n")
                return 2
    except Unwell as error:
        sys.stdout.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

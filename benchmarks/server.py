"""The server of all measurements: an own one, or the one that BANDMASTER_BENCH_REDIS_URL names.

The own server is the bundled Valkey on a socket in a temporary folder (or on a port of the loopback), without
persistence, as usual in comparisons with bare Dramatiq. It ends with this process, however that ends. A named server
must be empty, since the benchmarks empty it again and again.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from .records import SERVER_VARIABLE

BECOME_SERVER: Final = (
    "import sys; from bandmaster.scheduler.server.valkey import become_server; become_server(sys.argv[1:])"
)
START_SECONDS: Final = 30.0


class ServerNotUsable(Exception):
    """The server did not start, or is not empty."""


@contextmanager
def serving(folder: Path, *, tcp: bool = False) -> Generator[str]:
    """Provide the server during the block, and yield its URL.

    Args:
        folder: The folder for its socket and log; a short path.
        tcp: Use a port on the loopback instead of a socket.

    Raises:
        ServerNotUsable: If the server did not start, or is not empty.
    """
    named = os.environ.get(SERVER_VARIABLE)
    if named:
        with redis.Redis.from_url(named) as client:
            if client.dbsize():
                raise ServerNotUsable(f"the database that {SERVER_VARIABLE} names is not empty, and would be emptied")
        yield named
        return
    path, port = folder / "redis.sock", _free_port() if tcp else 0
    url = f"redis://127.0.0.1:{port}" if tcp else f"unix://{path}"
    options = {"port": str(port), "bind": "127.0.0.1", "save": "", "dir": str(folder), "logfile": str(folder / "log")}
    if not tcp:
        options["unixsocket"] = str(path)
    words = [word for name, value in options.items() for word in (f"--{name}", value)]
    process = subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *words])
    try:
        _wait_until_it_answers(url, process, folder / "log")
        yield url
    finally:
        process.terminate()
        process.wait(timeout=START_SECONDS)


def described(url: str) -> str:
    """Describe the server and the connection to it, for the reader of the figures."""
    with redis.Redis.from_url(url) as client:
        info: dict[str, Any] = client.info("server")  # pyright: ignore[reportAssignmentType]
        config: dict[str, Any] = client.info("persistence")  # pyright: ignore[reportAssignmentType]
    name, version = info.get("server_name", "redis"), info.get("valkey_version", info["redis_version"])
    way = "unix socket" if url.startswith("unix:") else "TCP"
    return f"{name} {version}, {way}, {'AOF' if config['aof_enabled'] else 'no AOF'}"


def _wait_until_it_answers(url: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with redis.Redis.from_url(url, retry=Retry(NoBackoff(), 0)) as client:
        while True:
            try:
                client.ping()
                return
            except redis.ConnectionError as error:
                if process.poll() is not None or time.monotonic() > deadline:
                    said = log.read_text() if log.exists() else "nothing"
                    raise ServerNotUsable(f"the server did not start, and said: {said}") from error
            time.sleep(0.01)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])

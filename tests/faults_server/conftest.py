"""Real workers of an ordinary application, on a server that a test may harm."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
import redis

from faults_server.own_server import OwnServer

Start = Callable[[str], "subprocess.Popen[bytes]"]


@pytest.fixture
def server() -> Iterator[OwnServer]:
    """Runs, on a folder of its own."""
    # Not pytest's folder: its path may be longer than a socket's may be.
    with tempfile.TemporaryDirectory(prefix="bm-") as folder:
        own = OwnServer(Path(folder))
        own.start()
        yield own
        own.end()


@pytest.fixture
def client(server: OwnServer) -> Iterator[redis.Redis]:
    """Straight to the server."""
    with redis.Redis.from_url(server.url) as straight:
        yield straight


@pytest.fixture
def start(server: OwnServer, tmp_path: Path) -> Iterator[Start]:
    """Starts worker processes of `ten_lines.py`, four threads each, on a URL; ends all of them.

    What the bodies say goes straight to the server: a body that fails would wait for its retry instead.
    """
    started: list[subprocess.Popen[bytes]] = []

    def start_one(url: str) -> "subprocess.Popen[bytes]":
        with (tmp_path / f"worker-{len(started)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dramatiq", "acceptance.ten_lines", "--processes", "1", "--threads", "4"],
                cwd=Path(__file__).parent.parent,
                env={**os.environ, "APP_REDIS_URL": url, "APP_SAID_URL": server.url},
                stdout=log,
                stderr=log,
            )
        started.append(process)
        return process

    yield start_one
    for process in started:
        if process.poll() is None:
            for each in psutil.Process(process.pid).children(recursive=True):
                each.kill()
            process.kill()
        process.wait()

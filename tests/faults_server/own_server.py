"""A real server of one test, which it may kill, put to sleep and start again on the same data."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import redis
from become_server import BECOME_SERVER
from redis.backoff import NoBackoff
from redis.retry import Retry

from waiting import GENEROUS_SECONDS, wait_until


class OwnServer:
    """On a socket in a folder; its data outlive it."""

    def __init__(
        self, folder: Path, *options: str, appendfsync: str = "no", environment: Mapping[str, str] | None = None
    ) -> None:
        self._environment = environment
        self.url = f"unix://{folder}/redis.sock"
        self._options = [
            *("--port", "0", "--unixsocket", f"{folder}/redis.sock", "--dir", str(folder), "--save", ""),
            *("--logfile", str(folder / "log"), "--appendonly", "yes", "--appendfsync", appendfsync),
            *options,
        ]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Returns when it answers, with whatever data the last one left."""
        self._process = subprocess.Popen([sys.executable, "-c", BECOME_SERVER, *self._options], env=self._environment)
        with redis.Redis.from_url(self.url, retry=Retry(NoBackoff(), 0)) as client:
            wait_until(lambda: self._answers(client), what="the server")

    def kill(self) -> None:
        """Nothing of it gets to do anything more."""
        self.signal(signal.SIGKILL)
        assert self._process is not None
        self._process.wait(timeout=GENEROUS_SECONDS)

    def signal(self, number: signal.Signals) -> None:
        """Send it a signal."""
        assert self._process is not None
        os.kill(self._process.pid, number)

    def end(self) -> None:
        """Whatever state it is in."""
        if self._process is not None and self._process.poll() is None:
            self.kill()

    def _answers(self, client: redis.Redis) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, "the server ended"
        try:
            return bool(client.ping())
        except (redis.ConnectionError, redis.BusyLoadingError):
            return False

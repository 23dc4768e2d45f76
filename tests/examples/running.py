"""An example as its reader runs it: its worker in one process, its program in another, in the folder of examples."""

import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import httpx

from waiting import wait_until

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
THREADS: Final = 8
TIMEOUT_SECONDS: Final = 120.0  # bounds a hang


class Running:
    """Starts processes of examples on one server; what they print goes into a folder."""

    def __init__(self, url: str, folder: Path) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "BANDMASTER_REDIS__URL": url,
            "BANDMASTER_PATHS__VAR_DIR": str(folder / "var"),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self._workers: list[subprocess.Popen[bytes]] = []

    def start_worker(self, module: str) -> None:
        """Start its worker, one process of eight threads."""
        self._workers.append(self._start("dramatiq", module, "--processes", "1", "--threads", str(THREADS)))

    def run(self, *arguments: str, folder: Path = EXAMPLES) -> str:
        """Run a program of Python's to its end, which has to be a good one; what it printed."""
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr + self._printed()
        return done.stdout

    @contextmanager
    def serving(self, application: str) -> Generator[httpx.Client]:
        """Serve an application of the web; a client of it."""
        socket = self._folder / "http.sock"
        server = self._start("uvicorn", application, "--uds", str(socket), "--log-level", "warning")
        try:
            with httpx.Client(base_url="http://example", transport=httpx.HTTPTransport(uds=str(socket))) as client:
                wait_until(lambda: server.poll() is not None or socket.exists(), what="the application")
                assert server.poll() is None, self._printed()
                yield client
        finally:
            server.terminate()
            server.wait(TIMEOUT_SECONDS)

    def said(self, pattern: str) -> list[str]:
        """What the workers printed that matches. Of several threads: a line may begin within another."""
        return re.findall(pattern, self._printed())

    def wait_until_said(self, pattern: str, times: int) -> None:
        """Wait until they have printed so many of these."""
        wait_until(lambda: len(self.said(pattern)) >= times, what=f"{times} of {pattern!r}")

    def end(self) -> None:
        """The workers end, as when they are told to; so nothing of theirs is left."""
        for worker in self._workers:
            worker.terminate()
        for worker in self._workers:
            assert worker.wait(TIMEOUT_SECONDS) == 0, self._printed()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        with self._log.open("ab") as log:
            command = [sys.executable, "-m", *arguments]
            return subprocess.Popen(command, cwd=EXAMPLES, env=self._environment, stdout=log, stderr=log)

    @property
    def _log(self) -> Path:
        return self._folder / "workers.log"

    def _printed(self) -> str:
        return self._log.read_text(encoding="utf-8") if self._log.exists() else ""


def most_at_once(said: Iterable[tuple[str, bool]]) -> Counter[str]:
    """Of each kind, how many had begun and not ended at most.

    Args:
        said: In order, a kind, and whether one of it begins or ends.
    """
    now: Counter[str] = Counter()
    most: Counter[str] = Counter()
    for kind, begins in said:
        now[kind] += 1 if begins else -1
        most[kind] = max(most[kind], now[kind])
    return most

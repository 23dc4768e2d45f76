"""The API as a process, and calls of it over one connection; the questions about it share this.

A client of the standard library: it costs the same on each side, and less than others.
"""

import http.client
import json
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import psutil

from bandmaster.admin.auth.local_token import FILE

from .apps.bare_api import PORT
from .rig import Rig

API: Final = "bandmaster.admin"
SHOWN: Final = "/api/v1/executions/e-0"
"""What the bare endpoint shows, as any other of its paths."""


class Calls:
    """One connection to an API."""

    def __init__(self, port: int, token: str = "") -> None:
        self.port = port
        self.authorization = f"Bearer {token}"
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": self.authorization} if token else {}

    def get(self, path: str) -> Any:
        """Ask, and return the document.

        Raises:
            RuntimeError: If it is refused.
        """
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status} {body.decode()[:300]}")
        return json.loads(body)

    def seconds_of(self, path: str) -> float:
        """How long one answer takes."""
        began = time.perf_counter()
        self.get(path)
        return time.perf_counter() - began


@contextmanager
def bare_endpoint(rig: Rig) -> Generator[Calls]:
    """Run an endpoint that reads nothing as a process, during the block."""
    port = Path(rig.folder, PORT)
    port.unlink(missing_ok=True)

    def answers() -> bool:
        try:
            Calls(int(port.read_text())).get(SHOWN)
        except OSError:
            return False
        return True

    with rig.process("benchmarks.apps.bare_api"):
        rig.wait_until(lambda: port.exists() and bool(port.read_text()), "the endpoint")
        rig.wait_until(answers, "its first answer")
        yield Calls(int(port.read_text()))


@contextmanager
def served(rig: Rig, ledger_url: str) -> Generator[Calls]:
    """Run the API's process on the rig's server and a ledger's database, during the block."""
    folder = rig.folder / "api"
    (folder / FILE).unlink(missing_ok=True)
    log = rig.folder / "workers.log"
    seen_bytes = log.stat().st_size if log.exists() else 0
    settings = {
        "BANDMASTER_REDIS__URL": rig.url,
        "BANDMASTER_LEDGER__URL": ledger_url,
        "BANDMASTER_PATHS__VAR_DIR": str(folder),
        "BANDMASTER_API__PORT": "0",
        # More than is asked for, and still counted.
        "BANDMASTER_API__REQUESTS_PER_MINUTE": "1000000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }
    with rig.process(API, environment=settings):
        found: list[int] = []

        def has_started() -> bool:
            said = log.read_text()[seen_bytes:]
            found[:] = [
                int(json.loads(line)["url"].rpartition(":")[2])
                for line in said.splitlines()
                if line.startswith("{") and '"url"' in line
            ]
            return bool(found)

        rig.wait_until(has_started, "the API")
        yield Calls(found[0], (folder / FILE).read_text().strip())


def used_seconds(module: str) -> float:
    """How much processor time a process of the rig has used so far, that runs this module."""
    (process,) = [each for each in psutil.Process().children() if module in each.cmdline()]
    times = process.cpu_times()
    return times.user + times.system

"""Processes ``ledger`` that serve metrics, for tests, on one SQLite database."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

Start = Callable[..., tuple["subprocess.Popen[bytes]", Path]]
"""Takes the port and further variables of the environment."""


@pytest.fixture
def start_serving(redis_url: str, tmp_path: Path) -> Iterator[Start]:
    """Starts a process that serves metrics at a port; the process, and its log."""
    environment = os.environ | {
        "BANDMASTER_REDIS__URL": redis_url,
        "BANDMASTER_LEDGER__URL": f"sqlite:///{tmp_path / 'ledger.sqlite3'}",
        "BANDMASTER_LEDGER__LEASE_MS": "1000",
        "BANDMASTER_LOGGING__FORMAT": "json",
    }
    with ExitStack() as ends:
        started: list[Path] = []

        def start(port: str, **variables: str) -> "tuple[subprocess.Popen[bytes], Path]":
            log = tmp_path / f"log-{len(started)}"
            started.append(log)
            with log.open("w") as output:
                process = subprocess.Popen(
                    [sys.executable, "-m", "bandmaster.ledger"],
                    env=environment | {"BANDMASTER_METRICS__PORT": port} | variables,
                    stdout=output,
                    stderr=output,
                )
            ends.callback(process.wait)
            ends.callback(process.kill)
            return process, log

        yield start

"""Runs the API's process as an operator does, and its fixtures."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from waiting import wait_until

Start = Callable[..., "Running"]


class Running:
    """A process that serves."""

    def __init__(self, environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "bandmaster.admin"], env=environment, stdout=output, stderr=output
            )

    def said(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    def url(self) -> str:
        def found() -> str:
            assert self.process.poll() is None, self._log.read_text()
            return next((each["url"] for each in self.said() if "url" in each), "")

        return wait_until(found, what="the API")

    def end(self, number: int = signal.SIGTERM) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def failed(self) -> str:
        assert self.process.wait(60) == 1
        return self._log.read_text()


@pytest.fixture
def start(redis_client: redis.Redis, redis_url: str, tmp_path: Path) -> Iterator[Start]:
    started: list[Running] = []

    def start(**settings: str) -> Running:
        environment = os.environ | {
            "BANDMASTER_REDIS__URL": redis_url,
            "BANDMASTER_PATHS__VAR_DIR": str(tmp_path / "var"),
            "BANDMASTER_LOGGING__FORMAT": "json",
            "BANDMASTER_API__PORT": "0",
        }
        environment |= {f"BANDMASTER_{name.upper()}": value for name, value in settings.items()}
        started.append(Running({k: v for k, v in environment.items() if v}, tmp_path / f"log-{len(started)}"))
        return started[-1]

    yield start
    for each in started:
        each.process.kill()
        each.process.wait()


@pytest.fixture
def local_token(tmp_path: Path) -> Callable[[], dict[str, str]]:
    return lambda: {"Authorization": f"Bearer {(tmp_path / 'var' / 'api-token').read_text().strip()}"}

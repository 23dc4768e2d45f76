"""The programs of the tutorial do what it says."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest
import redis

from bandmaster.scheduler.queue import ExecutionQueueService
from docs.documents import ROOT, text_of
from waiting import GENEROUS_SECONDS, wait_until

TUTORIAL: Final = text_of(ROOT / "docs" / "tutorial.md")
PRINTED: Final = re.search(r"```text\n(.*?)```", TUTORIAL, re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With the files that the tutorial has one write."""
    for name, text in re.findall(r"```python\n# (\w+\.py)\n(.*?)```", TUTORIAL, re.DOTALL):
        (tmp_path / name).write_text(text)
    return tmp_path


def test_the_urgent_one_is_first_and_one_of_a_tenant_runs_at_a_time(
    folder: Path, redis_url: str, redis_client: redis.Redis
) -> None:
    environment = {**os.environ, "BANDMASTER_REDIS__URL": redis_url, "PYTHONPATH": str(folder)}
    subprocess.run([sys.executable, "send.py"], cwd=folder, env=environment, check=True)
    queue = ExecutionQueueService(redis_client, lane="default")
    assert queue.get_pending_by_priority() == {"CRITICAL": 1, "HIGH": 0, "NORMAL": 4, "LOW": 0, "BACKGROUND": 0}
    log = folder / "log"
    with log.open("w") as output:
        worker = subprocess.Popen(
            [sys.executable, "-m", "dramatiq", "reports", "--processes", "1", "--threads", "4"],
            cwd=folder,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_until(lambda: log.read_text().count("is done") == 5, what="the reports")
        finally:
            worker.terminate()
            worker.wait(GENEROUS_SECONDS)
    # Of several threads: a line and its end may be written with another's in between.
    printed = re.findall(r"(?:acme|zeta) [\d-]+ (?:begins|is done)", log.read_text())
    assert PRINTED is not None
    shown = PRINTED[1].splitlines()
    assert len(printed) == 10
    assert set(shown) < set(printed)
    of_acme = [line for line in printed if line.startswith("acme")]
    assert of_acme[: len(shown) - 2] == [line for line in shown if line.startswith("acme")], "one at a time, in order"
    assert printed.index("zeta 2026-10 begins") < printed.index("acme 2026-09 begins"), "zeta does not wait for acme"


def test_the_program_of_an_execution_says_who_it_is(folder: Path) -> None:
    environment = {**os.environ, "EXECUTION_ID": "one"}
    done = subprocess.run(
        [sys.executable, "hello.py"], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "hello from one\n"

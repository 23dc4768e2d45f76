"""`bandmaster up` and the terminal that shows it, or whoever else reads it: it ends with them, and leaves nothing."""

import os
import shlex
import signal
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from cli.driving import COMMAND, Driver
from cli.terminal import Terminal, terminal

from waiting import GENEROUS_SECONDS, wait_until

pytestmark = pytest.mark.slow


@contextmanager
def in_a_terminal(idle: Driver, *command: str | Path) -> Generator[tuple[Terminal, list[psutil.Process]]]:
    with terminal([*command, "up", "--workers", "1"], columns=80, cwd=idle.folder, environment=idle.environment) as one:
        one.wait_for("ready: ")
        yield one, psutil.Process(one.process.pid).children(recursive=True)


def test_a_closed_terminal_ends_everything(idle: Driver) -> None:
    with in_a_terminal(idle, *COMMAND) as (one, family):
        assert len(family) >= 6
        one.close()
        assert one.process.wait(timeout=GENEROUS_SECONDS) == 0
        _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
        assert left == []


def test_ctrl_backslash_ends_everything_too(idle: Driver) -> None:
    with in_a_terminal(idle, *COMMAND) as (one, family):
        os.killpg(one.process.pid, signal.SIGQUIT)
        assert one.process.wait(timeout=GENEROUS_SECONDS) == 0
        _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
        assert left == []


@pytest.mark.nightly
def test_under_nohup_a_closed_terminal_ends_nothing(idle: Driver) -> None:
    log = idle.folder / "log"
    line = f"exec nohup {shlex.join(COMMAND)} up --json --workers 1 > {log} 2>&1"
    with terminal(["sh", "-c", line], columns=80, cwd=idle.folder, environment=idle.environment) as one:
        wait_until(lambda: log.exists() and '"ready"' in log.read_text(), what="ready")
        family = psutil.Process(one.process.pid).children(recursive=True)
        one.close()
        assert idle.run("submit", "--wait", "--", "true").code == 0
        one.process.send_signal(signal.SIGTERM)
        assert one.process.wait(timeout=GENEROUS_SECONDS) == 0
        _, left = psutil.wait_procs(family, timeout=GENEROUS_SECONDS)
        assert left == []


def test_it_ends_when_nobody_reads_it_any_more(idle: Driver) -> None:
    line = f"{shlex.join(COMMAND)} up --json --workers 1 2> log | head -n 1"
    done = subprocess.run(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=idle.folder,
        env=idle.environment,
        timeout=GENEROUS_SECONDS,
        check=False,
    )
    log = (idle.folder / "log").read_text()
    assert "redis stopped (rc=0)" in log
    assert "Traceback" not in log
    assert done.returncode == 0

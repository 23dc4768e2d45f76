"""The project's Procfile, started for real by honcho from a copy in another folder, and driven with the command."""

import shutil
import signal
import sys
from pathlib import Path

import pytest
from cli.driving import Driver, Up

from waiting import wait_until

pytestmark = pytest.mark.slow

PROCFILE = Path(__file__).parents[2] / "Procfile"


def test_honcho_runs_the_procfile_and_it_runs_an_execution(idle: Driver) -> None:
    shutil.copy(PROCFILE, idle.folder / "Procfile")
    up = Up(idle, [sys.executable, "-m", "honcho", "start", "--no-colour"], VIRTUAL_ENV=sys.prefix)
    try:
        assert idle.connect().ping()
        done = idle.run("submit", "--wait", "--json", "--", "echo", "hello")
        assert done.code == 0, up.out
        assert done.json["executions"][0]["result"]["output_tail"] == "hello\n"
        wait_until(lambda: idle.json("status")["leader"] is not None, what="a scheduler that leads")
        wait_until(lambda: _history(idle), what="the ledger")
        assert up.end(signal.SIGINT, up.family()) == 130
        assert all(f"{name}.1 stopped" in up.out for name in ("redis", "worker", "scheduler", "ledger", "api"))
    finally:
        up.clean_up()


def _history(idle: Driver) -> bool:
    told = idle.run("ledger", "--json")
    return told.code == 0 and told.json["ledger"]["executions"] == 1

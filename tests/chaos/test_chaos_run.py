"""A minute of rough weather; `make chaos` makes longer ones. And a short run that has to find what was planted."""

import json
import os
import subprocess
import sys
from typing import Any

from probing import FOLDER

from chaos import own_clock, own_network
from chaos.found import Kind
from chaos.own_network import INSIDE

LONGEST_SECONDS = 570
LEAST_FAULTS = 15
"""Of the sixty seconds; a slow machine makes fewer."""
LOOKED_FOR = (
    *(Kind.LIMIT, Kind.RATE, Kind.PAUSE, Kind.ORDER, Kind.TURNS, Kind.LOST, Kind.KEPT, Kind.DID_NOT_RUN),
    *(Kind.UNASKED, Kind.PASSED_OVER, Kind.NOT_PLANNED),
)


def chaos(*arguments: str) -> tuple[int, dict[str, Any], str]:
    """Run it as `make chaos` does; returns the exit code, the report, and what it said meanwhile."""
    # Its own network is another process's, so the server of this one is none of its.
    environment = {name: value for name, value in os.environ.items() if name != INSIDE}
    done = subprocess.run(
        [sys.executable, "-m", "chaos", "--json", *arguments],
        env={**environment, "PYTHONPATH": os.fspath(FOLDER)},
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


def test_in_rough_weather_each_message_ends_once_and_no_limit_is_passed() -> None:
    code, report, said = chaos("--seconds", "60", "--seed", "16")
    assert not report["violations"], "\n".join([*report["details"], said])
    assert code == 0
    assert sum(report["faults"].values()) >= LEAST_FAULTS
    assert report["executions"] > 0
    assert report["retries"] > 0
    assert report["occurrences"] > 0
    assert {*LOOKED_FOR} <= report["looked"].keys(), "a rule that nothing came to"
    assert report["packets"] == (own_network.why_not() or "")
    assert report["clock"] == (own_clock.why_not() or "")


def test_a_run_finds_whatever_is_planted() -> None:
    planted = [argument for kind in Kind for argument in ("--plant", kind.name.lower())]
    code, report, said = chaos("--seconds", "6", "--seed", "2", *planted)
    assert code == 1, said
    assert report["violations"].keys() == {kind.value for kind in Kind}, said

"""Rough weather until the work has come to each rule, and a run of all that must not be; `make chaos` makes more.

Both end by what they have recorded, so a slow machine takes longer and proves as much.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

import pytest
from probing import FOLDER

from chaos import own_clock, own_network
from chaos.found import Kind
from chaos.own_network import INSIDE

pytestmark = pytest.mark.slow

LONGEST_SECONDS = 570
FAULTS = 25
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


def each(option: str, kinds: Iterable[Kind]) -> list[str]:
    return [argument for kind in kinds for argument in (option, kind.name.lower())]


def test_in_rough_weather_each_message_ends_once_and_no_limit_is_passed() -> None:
    code, report, said = chaos("--seconds", "0", "--faults", str(FAULTS), "--seed", "16", *each("--rule", LOOKED_FOR))
    assert not report["violations"], "\n".join([*report["details"], said])
    assert code == 0
    assert sum(report["faults"].values()) >= FAULTS
    assert report["executions"] > 0
    assert report["retries"] > 0
    assert report["occurrences"] > 0
    assert {*LOOKED_FOR} <= report["looked"].keys(), "a rule that nothing came to"
    assert report["packets"] == (own_network.why_not() or "")
    assert report["clock"] == (own_clock.why_not() or "")


def test_a_run_finds_whatever_is_planted() -> None:
    code, report, said = chaos("--seconds", "0", "--seed", "2", *each("--plant", Kind))
    assert code == 1, said
    assert report["violations"].keys() == {kind.value for kind in Kind}, said

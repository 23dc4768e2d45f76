"""The benchmarks work: questions are asked for real, at their smallest size, and the answers are complete.

On a real server with real worker processes. No figure is looked at: a busy machine must not fail a test.
"""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]


def _run(*options: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks", *options]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.parametrize(
    "only",
    [
        pytest.param(("send", "drain", "urgent"), id="some"),
        pytest.param((), id="all", marks=pytest.mark.nightly),
    ],
)
def test_every_question_is_answered_with_its_figures_ratios_and_targets(only: tuple[str, ...], tmp_path: Path) -> None:
    results, chart = tmp_path / "build" / "results.json", tmp_path / "docs" / "benchmarks.svg"

    table = tmp_path / "results.md"
    written = ("--output", str(results), "--chart", str(chart), "--markdown", str(table))
    done = _run("--size", "smallest", "--json", *written, *(f"--only={name}" for name in only))

    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(results.read_text(encoding="utf-8"))
    assert json.loads(done.stdout) == answers
    assert answers["size"] == "smallest"
    assert all(answers["machine"].values())
    questions = [path.stem for path in (ROOT / "benchmarks").glob("*.py") if "QUESTION = Question(" in path.read_text()]
    assert sorted(question["name"] for question in answers["questions"]) == sorted(only or questions)
    for question in answers["questions"]:
        assert all(side["figures"] for side in question["sides"]), question["name"]
        for figure in (figure for side in question["sides"] for figure in side["figures"]):
            assert figure["min"] <= figure["median"] <= figure["max"]
        assert all(isinstance(target["reached"], bool) for target in question["targets"])
    assert "size smallest (there is less of everything than the names say" in table.read_text(encoding="utf-8")
    rows = [line for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    assert len({line.count("|") for line in rows}) == 1
    assert len(rows) == 1 + sum(len(side["figures"]) for each in answers["questions"] for side in each["sides"])
    assert ElementTree.parse(chart).getroot().tag.endswith("svg")


def test_an_unknown_question_is_refused_with_the_known_ones() -> None:
    done = _run("--only", "weather")

    assert done.returncode == 2
    assert "there is no question 'weather'" in done.stderr
    assert "idle_latency" in done.stderr


def test_a_question_about_pods_says_that_it_needs_a_cluster() -> None:
    without = {name: value for name, value in os.environ.items() if name != "KUBECONFIG"}

    done = _run("--only", "pod_turnaround", environment=without)

    assert done.returncode == 2
    assert "needs a cluster" in done.stderr
    assert "KUBECONFIG" in done.stderr

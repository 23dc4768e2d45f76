"""The benchmarks of pods work: asked for real at their smallest size. No figure is looked at."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ("pod_turnaround", "pod_creation", "pod_events", "pod_scale")


@pytest.mark.nightly  # it is measured seldom, and whether pods work is shown by all the others
def test_every_question_about_pods_is_answered(kubeconfig: str, tmp_path: Path) -> None:
    asked = [word for name in QUESTIONS for word in ("--only", name)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--size", "smallest", "--json", "--output", tmp_path / "out.json", *asked],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert done.returncode == 0, done.stderr
    answers: dict[str, Any] = json.loads(done.stdout)
    assert [question["name"] for question in answers["questions"]] == list(QUESTIONS)
    assert all(side["figures"] for question in answers["questions"] for side in question["sides"])

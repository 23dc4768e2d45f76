"""The rules for Prometheus, and promtool, which checks and tries them."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "configs" / "prometheus"
RECORDING: Final = FOLDER / "recording.yml"
ALERTS: Final = FOLDER / "alerts.yml"
TESTS: Final = Path(__file__).parent / "alerts"


@dataclass(frozen=True, slots=True)
class Alert:
    """One rule."""

    name: str
    expression: str
    lasts: str
    """For how long it has to be so, as in `5m`; empty: at once."""
    labels: dict[str, str]
    annotations: dict[str, str]


def rules_of(file: Path) -> list[dict[str, Any]]:
    """All rules of a file."""
    document: Any = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def alerts() -> list[Alert]:
    """All of them, in order."""
    return [
        Alert(rule["alert"], rule["expr"], rule.get("for", ""), rule["labels"], rule["annotations"])
        for rule in rules_of(ALERTS)
    ]


def promtool(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run it; without one, the test is skipped, or fails where Prometheus is required."""
    program = shutil.which("promtool")
    if program is None:
        assert os.environ.get("BANDMASTER_REQUIRE_PROMETHEUS") != "1", "promtool is not installed"
        pytest.skip("needs promtool: apt-get install prometheus")
    return subprocess.run([program, *arguments], capture_output=True, text=True, check=False)

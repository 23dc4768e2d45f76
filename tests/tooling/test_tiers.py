"""A run says at its end how many cases it left out, and which command runs them."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

CASES = """
import pytest

def test_one(): pass

@pytest.mark.slow
@pytest.mark.parametrize("number", range(3))
def test_slow(number): pass

@pytest.mark.slow
@pytest.mark.nightly
def test_night(): pass
"""
CONFTEST = """
from tiers import LeftOut

def pytest_configure(config):
    for marker in ("slow", "nightly", "cluster"):
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(LeftOut())
"""


@pytest.mark.parametrize("processes", [0, pytest.param(2)])
def test_what_was_left_out_is_told_with_the_command_that_runs_it(processes: int, tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_cases.py").write_text(CASES)
    folder = Path(__file__).parents[1]

    def told(markers: str) -> list[str]:
        options = ["-m", markers, "-n", str(processes), "-o", f"pythonpath={folder}", "--rootdir", str(tmp_path)]
        ended = subprocess.run(
            [sys.executable, "-m", "pytest", *options], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        return [line for line in ended.stdout.splitlines() if line.startswith("left out")]

    both = "left out: 1 nightly (make nightly), 3 slow (make check)"
    assert told("not slow and not nightly") == [both]
    assert told("not nightly") == ["left out: 1 nightly (make nightly)"]
    assert told("") == []

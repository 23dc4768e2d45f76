"""Which files of tests depend on time, and the table of their runs."""

import json
from pathlib import Path

import pytest

from tools.steadiness import Run, command_of, depends_on_time, main, report, run, subjects

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("source", "depends"),
    [
        ("import subprocess", True),
        ("import os, threading", True),
        ("from threading import Event", True),
        ("import time\ntime.sleep(1)", True),
        ("def test(): wait_until(lambda: True)", True),
        ("from threads import Event\nthreading = 1", False),
        ("'import subprocess'", False),
    ],
)
def test_a_file_depends_on_time_by_what_it_imports_and_calls(source: str, depends: bool) -> None:
    assert depends_on_time(source) is depends


def test_files_are_found_below_what_is_named(tmp_path: Path) -> None:
    (tmp_path / "tests/one").mkdir(parents=True)
    for name, text in (("test_a.py", "import threading"), ("test_b.py", "pass"), ("help.py", "import threading")):
        (tmp_path / "tests/one" / name).write_text(text)
    assert subjects(tmp_path, []) == subjects(tmp_path, ["tests/one/test_a.py"]) == ["tests/one/test_a.py"]
    assert subjects(tmp_path, ["tests/one/test_b.py"]) == []


def test_a_run_says_which_tests_failed(tmp_path: Path) -> None:
    file = tmp_path / "test_it.py"
    file.write_text("import threading\ndef test_good(): pass\ndef test_bad(): assert 0\n")
    ended = run(str(file), command_of(str(file), "not slow", is_target=False), load=0)
    assert ended is not None
    assert not ended.passed
    assert [failure.partition("::")[2].split()[0] for failure in ended.failures] == ["test_bad"]
    assert run(str(file), command_of(str(file), "cluster", is_target=False), load=0) is None


def test_runs_go_on_where_they_were_stopped_and_one_that_failed_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "table.jsonl"
    file = "tests/tooling/test_costs.py"
    given = ["--table", str(table), "--markers", "not nightly"]
    assert main([*given, "--list", "tests/tooling/test_steadiness.py"]) == 0
    assert main([*given, "--times", "1", "--make", "help"]) == main([*given, "--times", "1", "--make", "help"]) == 0
    assert main([*given, "--times", "1", "--make", "no-such-target"]) == 1
    lines = [json.loads(line) for line in table.read_text().splitlines()]
    assert [(line["subject"], line["passed"]) for line in lines] == [("help", True), ("no-such-target", False)]
    capsys.readouterr()
    assert main([*given, "--report"]) == 0
    assert "| help | 0 | 1 | 0 |" in capsys.readouterr().out
    assert file not in table.read_text()


def test_the_report_counts_failures_by_what_failed() -> None:
    runs = [Run("a", "1", 2, passed, 1.0, [] if passed else ["FAILED a|b"]) for passed in (True, False, False)]
    assert "| a | 2 | 3 | 2 | FAILED a\\|b (2) |" in report(runs)

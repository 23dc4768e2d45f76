"""The tables of what phases and tests cost."""

import json
import sys
from pathlib import Path

import pytest
from costs import Costs, processor_seconds

from tools.costs import Cost, files, folders, main, phases

SPIN = "import time; began = time.process_time()\nwhile time.process_time() - began < 0.2: pass"


def test_a_phase_costs_what_its_processes_used_and_keeps_the_exit_code(tmp_path: Path) -> None:
    spin = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {SPIN!r}]); sys.exit(3)"
    assert main(["--folder", str(tmp_path), "run", "spin", "--", sys.executable, "-c", spin]) == 3
    assert main(["--folder", str(tmp_path), "run", "nothing", "--", "true"]) == 0
    assert main(["--folder", str(tmp_path), "run", "killed", "--", "sh", "-c", "kill -9 $$"]) == 137
    spun, *_ = noted = phases(tmp_path)
    assert [one.name for one in noted] == ["spin", "nothing", "killed"]
    assert spun.cpu_seconds >= 0.2
    assert spun.wall_seconds >= 0.2


def test_processors_are_counted_with_those_of_children_that_ended() -> None:
    before = processor_seconds()
    assert main(["--folder", "/dev/null/none"]) == 1
    assert processor_seconds() >= before


def test_files_are_summed_over_processes_and_phases_and_by_folder(tmp_path: Path) -> None:
    lines = [
        {"file": "tests/a/test_b.py", "cases": 2, "wall_seconds": 1.5, "cpu_seconds": 1.0},
        {"file": "tests/a/test_c.py", "cases": 1, "wall_seconds": 1.0, "cpu_seconds": 0.5},
    ]
    for number, of_process in enumerate([lines, lines[:1]]):
        text = "".join(json.dumps(line) + "\n" for line in of_process)
        (tmp_path / f"tests-gw{number}-1.jsonl").write_text(text)
    assert files(tmp_path) == [Cost("tests/a/test_b.py", 3.0, 2.0, 4), Cost("tests/a/test_c.py", 1.0, 0.5, 1)]
    assert folders(files(tmp_path)) == [Cost("tests/a", 4.0, 2.5, 5)]


def test_it_prints_tables_and_json_and_says_when_there_is_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--folder", str(tmp_path)]) == 1
    assert "no costs are noted" in capsys.readouterr().err
    main(["--folder", str(tmp_path), "run", "one", "true"])
    assert main(["--folder", str(tmp_path)]) == 0
    assert "| one |" in capsys.readouterr().out
    assert main(["--folder", str(tmp_path), "--json"]) == 0
    assert [one["name"] for one in json.loads(capsys.readouterr().out)["phases"]] == ["one"]
    with pytest.raises(SystemExit, match="2"):
        main(["--folder", str(tmp_path), "run", "one"])


def test_the_costs_of_a_file_are_written_when_its_last_case_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setenv("PYTEST_XDIST_WORKER", "gw7")
    costs, item = Costs(tmp_path), request.node
    for following in (item, None):
        steps = costs.pytest_runtest_protocol(item, following)
        next(steps)
        with pytest.raises(StopIteration):
            steps.send(None)
        assert [one.cases for one in files(tmp_path)] == ([] if following else [2])

"""The mutants find their places, and a run tells which of them a test finds."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools.mutants import covering, lua, python, results
from tools.mutants.__main__ import main
from tools.mutants.results import Outcome, Result

ROOT = Path(__file__).parents[2]
CODE = '''"""Adds."""

import logging

log = logging.getLogger()


def add(one: int, other: int = 0) -> int:
    """Adds two."""
    log.info("adding %s", one)
    return one + other


def is_small(number: int) -> bool:
    return number < 10
'''
TEST = """from bandmaster.scheduler.model.adding import add, is_small


def test_adding():
    assert add(1, 2) == 3


def test_small():
    assert is_small(1)
"""


Run = Callable[..., tuple[int, str]]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command in this process. Gives its exit code, and what it printed."""

    def run(*arguments: str) -> tuple[int, str]:
        capsys.readouterr()
        monkeypatch.setattr(sys, "argv", ["mutants", *arguments])
        return main(), capsys.readouterr().out

    return run


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A little project: what adds is tested, the bound of what is small is not."""
    folder = tmp_path / "project"
    for name, text in {
        "scheduler/model/adding.py": CODE,
        "tests/model/test_adding.py": TEST,
        "bandmaster/__init__.py": "",
        "pyproject.toml": "[tool.pytest.ini_options]\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bandmaster" / "scheduler").symlink_to("../scheduler")
    subprocess.run(("git", "init", "-q", str(folder)), check=True)
    return folder


def test_each_rule_of_lua_finds_its_anchor_once_and_a_test() -> None:
    wrong: list[str] = []
    for rule in lua.rules():
        path = ROOT / rule.file
        if not path.exists() or path.read_text().count(rule.anchor) != 1:
            wrong.append(f"{rule.id}: its anchor is not in {rule.file} exactly once")
        wrong += [f"{rule.id}: {name} does not exist" for name in rule.tests if not (ROOT / name).exists()]
    assert not wrong
    assert len({rule.id for rule in lua.rules()}) == len(lua.rules()) >= 60


def test_each_rule_of_lua_names_what_it_breaks() -> None:
    guarantees, defects = (ROOT / "docs" / name for name in ("guarantees.md", "design/defects.md"))
    known = {f"P{number}" for number in range(100) if f"\n| {number} | " in guarantees.read_text()}
    known |= {
        line.split()[1]
        for path in (guarantees, defects)
        for line in path.read_text().splitlines()
        if line[:4] == "### "
    }
    assert [rule.id for rule in lua.rules() if rule.breaks not in known] == []


def test_a_seed_draws_the_same_mutants_of_python_each_time_and_all_of_them_compile() -> None:
    drawn = python.drawn(ROOT, seed=1, count=200)
    assert drawn == python.drawn(ROOT, seed=1, count=200)
    assert len({mutant.name for mutant in drawn}) == 200
    assert drawn != python.drawn(ROOT, seed=2, count=200)
    for mutant in drawn:
        compile(mutant.applied((ROOT / mutant.file).read_bytes()), mutant.file, "exec")


def test_mutants_keep_their_names_when_lines_move_and_spare_what_is_only_said(tree: Path) -> None:
    path = tree / "scheduler/model/adding.py"
    names = [mutant.name for mutant in python.all_of(tree)]
    assert names == [
        "scheduler/model/adding.py::add: return None: return one + other",
        "scheduler/model/adding.py::add: sign: one + other",
        "scheduler/model/adding.py::is_small: return None: return number < 10",
        "scheduler/model/adding.py::is_small: comparison: number < 10",
        "scheduler/model/adding.py::is_small: constant: 10",
    ]
    path.write_text(CODE.replace("def add", "# Adds → more.\ndef more() -> None: ...\n\n\ndef add"))
    assert [mutant.name for mutant in python.all_of(tree)] == names


@pytest.mark.slow
@pytest.mark.nightly
def test_a_run_tells_which_mutants_a_test_finds_and_changes_nothing(tree: Path, run: Run) -> None:
    run("cover", "--tree", str(tree), "--jobs", "1")
    covered = {case.name: case.lines for case in covering.cases_of(tree / "build/mutants/covered.jsonl")}
    path = "scheduler/model/adding.py"
    assert {name: lines[path] for name, lines in covered.items()} == {
        "tests/model/test_adding.py::test_adding": {10, 11},
        "tests/model/test_adding.py::test_small": {15},
    }
    code, said = run("run", "--tree", str(tree), "--only", "python", "--json")
    assert (code, json.loads(said)) == (0, {"killed": 3, "survived": 2})
    found = results.read(tree / "build/mutants/results.jsonl")
    assert found[f"{path}::add: sign: one + other"].by == "tests/model/test_adding.py::test_adding"
    assert found[f"{path}::is_small: constant: 10"].outcome is Outcome.SURVIVED
    assert (tree / path).read_text() == CODE


@pytest.mark.parametrize(("now", "code"), [(Outcome.SURVIVED, 1), (Outcome.UNCOVERED, 1), (Outcome.HUNG, 0)])
def test_comparing_fails_if_one_survives_that_was_killed(tmp_path: Path, run: Run, now: Outcome, code: int) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for path, outcome in ((before, Outcome.KILLED), (after, now)):
        results.append(path, Result("one", outcome))
        results.append(path, Result("other", Outcome.SURVIVED))
    found, said = run("compare", "--json", str(before), str(after))
    assert (found, json.loads(said)) == (code, {"lost": ["one"] if code else [], "gone": []})

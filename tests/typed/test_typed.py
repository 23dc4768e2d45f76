"""Types as an application sees them: bandmaster installed, pyright and mypy --strict run on what uses it."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final, cast

import dramatiq.middleware
import pytest
from dramatiq.middleware import Middleware
from dramatiq.results import Results
from dramatiq.results.backends.stub import StubBackend

from bandmaster.middleware.intake.actor_options import ACTOR_OPTIONS
from bandmaster.middleware.intake.misspelt_options import MESSAGE_OPTIONS
from bandmaster.middleware.options import ActorOptions, MessageOptions

pytestmark = pytest.mark.slow

HERE: Final = Path(__file__).parent
REPOSITORY: Final = HERE.parent.parent
RIGHT: Final = HERE / "application.py"
WRONG: Final = HERE / "wrong_use.py"
Found = dict[str, set[int]]
"""The name of a file → its lines that have an error."""
Checker = Callable[[Path], Found]
"""Looks at both files in one run, with this Python."""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of an environment in which the package is installed as a wheel would install it, beside what it needs."""
    folder = tmp_path_factory.mktemp("typed")
    venv.create(folder, symlinks=True)
    (target,) = folder.glob("lib/python*/site-packages")
    for each in Path(dramatiq.__path__[0]).parent.iterdir():
        if "bandmaster" not in each.name and each.suffix != ".pth":
            (target / each.name).symlink_to(each)
    # Its links become folders.
    shutil.copytree(REPOSITORY / "bandmaster", target / "bandmaster", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "bin" / "python"


def pyright(python: Path) -> Found:
    """By pyright, strict."""
    project = python.parent.parent / "project"
    project.mkdir()
    for file in (RIGHT, WRONG):
        (project / file.name).write_bytes(file.read_bytes())
    names = [RIGHT.name, WRONG.name]
    (project / "pyrightconfig.json").write_text(json.dumps({"include": names, "typeCheckingMode": "strict"}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), "-p", str(project)]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    )
    said: dict[str, Any] = json.loads(ran.stdout)
    assert said["summary"]["filesAnalyzed"] == 2, ran.stdout
    diagnostics: list[dict[str, Any]] = said["generalDiagnostics"]
    errors = [each for each in diagnostics if each["severity"] == "error"]
    return _by_file((each["file"], each["range"]["start"]["line"] + 1) for each in errors)


def mypy(python: Path) -> Found:
    """By mypy, strict."""
    options = ["--strict", "--output", "json", "--no-incremental", "--config-file", os.devnull]
    command = [sys.executable, "-m", "mypy", *options, "--python-executable", str(python), str(RIGHT), str(WRONG)]
    # Not in the repository, whose folder it would take for the application's own code.
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=python.parent.parent)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = [cast("dict[str, Any]", json.loads(line)) for line in ran.stdout.splitlines() if line.startswith("{")]
    return _by_file((each["file"], each["line"]) for each in found if each["severity"] == "error")


def _by_file(errors: Iterable[tuple[str, int]]) -> Found:
    found = defaultdict[str, set[int]](set)
    for file, line in errors:
        found[Path(file).name].add(line)
    return found


@pytest.mark.parametrize("check", [pyright, mypy])
def test_right_use_is_right_and_wrong_use_is_found_before_anything_runs(check: Checker, python: Path) -> None:
    lines = enumerate(WRONG.read_text().splitlines(), 1)
    assert check(python) == {WRONG.name: {number for number, line in lines if line.endswith("# wrong")}}


def test_the_types_know_every_option_that_there_is() -> None:
    declared: list[Callable[[], Middleware]] = [
        *dramatiq.middleware.default_middleware,
        lambda: Results(backend=StubBackend()),
    ]
    known = set[str]().union(*(make().actor_options for make in declared))
    assert known | ACTOR_OPTIONS == ActorOptions.__annotations__.keys()
    assert MessageOptions.__annotations__.keys() >= MESSAGE_OPTIONS

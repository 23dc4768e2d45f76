"""Types as an application sees them: bandmaster installed, pyright and mypy --strict run on what uses it."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections.abc import Callable
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
Checker = Callable[[Path, Path], set[int]]
"""With this Python, the lines of this file that have an error."""


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


def pyright(python: Path, file: Path) -> set[int]:
    """By pyright, strict."""
    project = python.parent.parent / file.stem
    project.mkdir()
    (project / file.name).write_bytes(file.read_bytes())
    (project / "pyrightconfig.json").write_text(json.dumps({"include": [file.name], "typeCheckingMode": "strict"}))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", str(python), "-p", str(project)]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    )
    said: dict[str, Any] = json.loads(ran.stdout)
    assert said["summary"]["filesAnalyzed"] == 1, ran.stdout
    found: list[dict[str, Any]] = said["generalDiagnostics"]
    return {each["range"]["start"]["line"] + 1 for each in found if each["severity"] == "error"}


def mypy(python: Path, file: Path) -> set[int]:
    """By mypy, strict."""
    options = ["--strict", "--output", "json", "--no-incremental", "--config-file", os.devnull]
    command = [sys.executable, "-m", "mypy", *options, "--python-executable", str(python), str(file)]
    # Not in the repository, whose folder it would take for the application's own code.
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=python.parent.parent)
    assert ran.returncode in (0, 1), ran.stdout + ran.stderr
    found = [cast("dict[str, Any]", json.loads(line)) for line in ran.stdout.splitlines() if line.startswith("{")]
    assert {Path(each["file"]).name for each in found} <= {file.name}, ran.stdout
    return {each["line"] for each in found if each["severity"] == "error"}


@pytest.mark.parametrize("check", [pyright, mypy])
def test_right_use_is_right(check: Checker, python: Path) -> None:
    assert check(python, RIGHT) == set()


@pytest.mark.parametrize("check", [pyright, mypy])
def test_wrong_use_is_found_before_anything_runs(check: Checker, python: Path) -> None:
    lines = WRONG.read_text().splitlines()
    assert check(python, WRONG) == {number for number, line in enumerate(lines, 1) if line.endswith("# wrong")}


def test_the_types_know_every_option_that_there_is() -> None:
    declared: list[Callable[[], Middleware]] = [
        *dramatiq.middleware.default_middleware,
        lambda: Results(backend=StubBackend()),
    ]
    known = set[str]().union(*(make().actor_options for make in declared))
    assert known | ACTOR_OPTIONS == ActorOptions.__annotations__.keys()
    assert MessageOptions.__annotations__.keys() >= MESSAGE_OPTIONS

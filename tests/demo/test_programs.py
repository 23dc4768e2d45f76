"""The demo's programs, run for real as the demo runs them: alone, in an empty folder, with an empty environment.

A program is copied away from its neighbours first, since an execution is sent as one text. What this file proves of
the good ones is what their README promises; of the trouble makers, that they make the trouble they are there for.
"""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bandmaster.demo.plan import PROGRAMS as FOLDER
from waiting import GENEROUS_SECONDS

pytestmark = pytest.mark.slow

TROUBLE = FOLDER / "trouble"
PROGRAMS = sorted(path for path in FOLDER.iterdir() if path.suffix in {".py", ".sh"})
EVERYTHING = [*PROGRAMS, *sorted(TROUBLE.glob("*.py"))]
ADDRESS_SPACE_KIB = 256 * 1024


def _name(path: Path) -> str:
    return path.name


def _command(path: Path, folder: Path) -> list[str]:
    """Copy a program away from its neighbours; return the command that runs the copy with an empty environment."""
    copy = str(shutil.copy(path, folder / "program"))
    interpreter = "sh" if path.suffix == ".sh" else sys.executable
    return ["env", "-i", "PATH=/usr/bin:/bin", interpreter, copy]


def _empty(folder: Path) -> Path:
    empty = folder / "empty"
    empty.mkdir()
    return empty


def _title(path: Path) -> str:
    """Return the label that the demo shows: the first line of the docstring, or of the comment under ``#!``."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".sh":
        return text.splitlines()[1].removeprefix("# ")
    return (ast.get_docstring(ast.parse(text)) or "").split("\n")[0]


def _imports(path: Path) -> set[str]:
    """Return the top-level names of all modules that a Python program imports."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


@pytest.mark.parametrize("path", PROGRAMS, ids=_name)
def test_a_program_succeeds_alone_in_an_empty_folder_and_reports_a_result(path: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        _command(path, tmp_path),
        cwd=_empty(tmp_path),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=GENEROUS_SECONDS,
        check=False,
    )

    assert (done.returncode, done.stderr) == (0, "")
    assert 3 <= len(done.stdout.splitlines()) <= 22


def test_every_program_is_short_and_needs_only_the_standard_library() -> None:
    lines = {path.name: len(path.read_text(encoding="utf-8").splitlines()) for path in EVERYTHING}
    imported = {path.name: _imports(path) for path in EVERYTHING if path.suffix == ".py"}

    assert {name: count for name, count in lines.items() if not 15 <= count <= 80} == {}
    assert {name: names for name, names in imported.items() if not names <= sys.stdlib_module_names} == {}


def test_every_program_has_a_title_of_its_own_that_fits_a_table() -> None:
    titles = [_title(path) for path in EVERYTHING]

    assert len(set(titles)) == len(EVERYTHING)
    assert [title for title in titles if not (15 <= len(title) <= 90 and title.endswith("."))] == []


def test_there_are_sixteen_programs_as_their_readme_says() -> None:
    assert len(PROGRAMS) == 16


def test_the_corrupt_import_exits_with_code_3_and_says_why(tmp_path: Path) -> None:
    done = subprocess.run(
        _command(TROUBLE / "fails.py", tmp_path),
        cwd=_empty(tmp_path),
        capture_output=True,
        text=True,
        timeout=GENEROUS_SECONDS,
        check=False,
    )

    assert done.returncode == 3
    assert "corrupt" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("name", ["never_ends.py", "long_running.py"])
def test_a_program_that_should_be_stopped_still_runs_after_a_second_and_has_finished_nothing(
    name: str, tmp_path: Path
) -> None:
    folder = _empty(tmp_path)
    with subprocess.Popen(_command(TROUBLE / name, tmp_path), cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() != ""  # it has begun

            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(timeout=1.0)
        finally:
            process.kill()

    assert {path.name for path in folder.iterdir()} <= {"customers.csv.part"}


@pytest.mark.skipif(sys.platform != "linux", reason="`ulimit -v` has no effect elsewhere")
def test_the_memory_hog_grows_until_a_limit_stops_it(tmp_path: Path) -> None:
    limited = ["sh", "-c", f'ulimit -v {ADDRESS_SPACE_KIB} && exec "$@"', "sh"]

    done = subprocess.run(
        [*limited, *_command(TROUBLE / "takes_too_much_memory.py", tmp_path)],
        cwd=_empty(tmp_path),
        capture_output=True,
        text=True,
        timeout=GENEROUS_SECONDS,
        check=False,
    )

    assert done.returncode != 0
    assert "MemoryError" in done.stderr
    assert len(done.stdout.splitlines()) > 3  # it was on its way, and said so

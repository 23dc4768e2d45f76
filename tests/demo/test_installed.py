"""The wheel has all of the demo's programs: `bandmaster demo` finds them beside itself, wherever it is installed."""

import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

from bandmaster.demo.plan import PROGRAMS

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
BUILD = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"
NOT_SOURCES = shutil.ignore_patterns(".*", "build", "dist", "var", "*.egg-info", "__pycache__", "tests")


def test_a_wheel_has_every_program_and_says_nothing_while_it_is_built(tmp_path: Path) -> None:
    # A copy: setuptools leaves folders where it builds.
    shutil.copytree(ROOT, tmp_path / "source", symlinks=True, ignore=NOT_SOURCES)
    built = subprocess.run(
        [sys.executable, "-c", BUILD, str(tmp_path)],
        cwd=tmp_path / "source",
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stderr
    assert "Warning" not in built.stderr
    (wheel,) = tmp_path.glob("*.whl")
    with ZipFile(wheel) as packed:
        found = {name for name in packed.namelist() if name.startswith("bandmaster/demo/programs/")}
    files = (path for path in PROGRAMS.rglob("*") if path.is_file() and path.parent.name != "__pycache__")
    assert found == {f"bandmaster/demo/programs/{path.relative_to(PROGRAMS)}" for path in files}

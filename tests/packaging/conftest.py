"""What is released, built once a test process from a copy of the sources, and environments that have it installed."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest
from fresh_environment import OFFLINE, Environment, make_environment
from released import FILES, PARTS, ROOT, Release

BUILD: Final = "import sys; from setuptools.build_meta import build_wheel; build_wheel(sys.argv[1])"


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with their links; building in the real ones would leave files there, and take old ones."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in PARTS:
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.fixture(scope="session")
def wheel(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a checkout without a warning."""
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=checkout,
        env=OFFLINE,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Warning" not in done.stderr, done.stderr
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def release(checkout: Path, tmp_path_factory: pytest.TempPathFactory) -> Release:
    """The sdist, built from a checkout as a release is, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("release")
    _run("build", "--no-isolation", "--outdir", folder, checkout)
    (sdist,), (built,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Release(sdist, built)


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Environment]:
    """The environment of an extra, made when it is first asked for; empty: of the base."""
    folder = tmp_path_factory.mktemp("environments")

    @cache
    def made(extra: str) -> Environment:
        return make_environment(folder / (extra or "base"), wheel, extra)

    return made


def _run(module: str, *arguments: str | Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments], env=OFFLINE, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{module}: {done.stdout[-3000:]}{done.stderr[-3000:]}"

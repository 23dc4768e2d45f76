"""Dramatiq's tests, taken from its source distribution on PyPI at the version that is installed, and put beside ours.

Nothing of them is kept in this repository: they are downloaded once into `var/`, and unpacked for each run. The source
distribution lacks their `conftest.py` and `common.py`; those in `supplied/` are ours.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
SUPPLIED: Final = Path(__file__).resolve().parent / "supplied"
CACHE: Final = ROOT / "var" / "dramatiq-tests"


class NotDownloaded(Exception):
    """The package index could not be reached."""


def download() -> Path:
    """The source distribution of the installed version.

    Raises:
        NotDownloaded: If it is not there yet, and could not be fetched.
    """
    name = f"dramatiq-{version('dramatiq')}.tar.gz"
    kept = CACHE / name
    if kept.exists():
        return kept
    CACHE.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=CACHE) as folder:
        asked = [f"dramatiq=={version('dramatiq')}", "--no-deps", "--no-binary", ":all:", "--no-build-isolation"]
        pip = [sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--dest", folder, *asked]
        done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode != 0:
            raise NotDownloaded(done.stderr)
        os.replace(Path(folder) / name, kept)  # whole or not at all
    return kept


def unpack(folder: Path) -> None:
    """Put Dramatiq's tests and our part of them into ``folder/tests``, a package as they expect it."""
    tests = folder / "tests"
    tests.mkdir()
    with tarfile.open(download()) as archive:
        for member in archive.getmembers():
            path = Path(member.name)
            content = archive.extractfile(member)
            if path.parts[1:2] == ("tests",) and path.suffix == ".py" and content is not None:
                (tests / path.name).write_bytes(content.read())
    (tests / "__init__.py").touch()
    for ours in SUPPLIED.glob("*.py"):
        # Under its right name it would be taken for a conftest of this folder's.
        shutil.copy(ours, tests / ("conftest.py" if ours.name == "fixtures.py" else ours.name))
    (folder / "pytest.ini").write_text("[pytest]\n")

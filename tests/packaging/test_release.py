"""Wheel and sdist hold what they should, and PyPI would take and show them."""

import re
import subprocess
import sys
import tarfile
from importlib.metadata import version
from pathlib import Path, PurePosixPath
from typing import Final
from zipfile import ZipFile

import pytest
from fresh_environment import PROJECT, metadata_of
from packaging.utils import canonicalize_name
from released import PARTS, ROOT, Release
from trove_classifiers import classifiers

pytestmark = pytest.mark.slow

NOT_INSTALLED: Final = tuple(PurePosixPath("bandmaster/configs") / each for each in ("deploy", "grafana", "prometheus"))
PYTHON: Final = "Programming Language :: Python :: "


def _contents(wheel: Path) -> dict[str, int]:
    """Name → checksum of all files but those that tell how the wheel was made."""
    with ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist() if not each.filename.endswith("/RECORD")}


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(checkout: Path, wheel: Path) -> None:
    sources = {
        (PurePosixPath("bandmaster", *([] if part == PROJECT else [part])) / file.relative_to(checkout / part))
        for part in PARTS
        for file in (checkout / part).rglob("*")
        if file.is_file()
    }
    expected = {str(each) for each in sources if not any(map(each.is_relative_to, NOT_INSTALLED))}
    assert {each for each in _contents(wheel) if ".dist-info/" not in each} == expected


@pytest.mark.nightly
def test_the_sdist_builds_the_wheel_that_a_checkout_builds(wheel: Path, release: Release) -> None:
    assert release.wheel.name == wheel.name
    assert _contents(release.wheel) == _contents(wheel)


def test_the_sdist_has_plain_files_and_no_links(release: Release) -> None:
    with tarfile.open(release.sdist) as archive:
        assert {each.name for each in archive if not (each.isfile() or each.isdir())} == set()
        assert f"{PROJECT}-{version(PROJECT)}/CHANGELOG.md" in archive.getnames()


def test_pypi_would_show_the_description(release: Release) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "twine", "check", "--strict", release.sdist, release.wheel],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("PASSED") == 2, done.stdout


def test_pypi_knows_every_classifier(wheel: Path) -> None:
    ours = metadata_of(wheel).classifiers or []
    assert ours
    assert set(ours) <= classifiers


def test_every_python_that_is_named_is_tested_by_the_workflow(wheel: Path) -> None:
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    matrix = re.search(r"^ +python: \[(.*)\]$", workflow, re.MULTILINE)
    assert matrix is not None
    named = [each.removeprefix(PYTHON) for each in metadata_of(wheel).classifiers or [] if each.startswith(PYTHON)]
    assert [each for each in named if "." in each] == re.findall(r"3\.\d+", matrix[1])


def test_everything_that_an_extra_brings_is_in_the_lock(wheel: Path) -> None:
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8").splitlines()
    locked = {canonicalize_name(name): at for name, _, at in (each.partition("==") for each in lines) if at}
    for needed in metadata_of(wheel).requires_dist or []:
        if needed.name != PROJECT:
            assert needed.specifier.contains(locked[canonicalize_name(needed.name)], prereleases=True), needed

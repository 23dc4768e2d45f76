"""The page about testing: its files are written to an empty folder, and its tests pass there without a server."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def blocks() -> list[tuple[str, str]]:
    """The page's Python blocks, each with the name of the file that its first line gives."""
    return re.findall(
        r"^```python\n# (\S+?\.py)[^\n]*\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    for name, text in blocks():
        with (tmp_path / name).open("a", encoding="utf-8") as file:
            file.write(f"{text}\n")
    tests = tmp_path / "test_reports.py"
    tests.write_text(
        tests.read_text(encoding="utf-8")
        + "\n\ndef test_a_fixture_of_its_own(reports_broker):\n    assert reports_broker is reports.broker\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-W",
            "error",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:valkey",
            str(tmp_path),
        ],
        cwd=tmp_path,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{tests.read_text(encoding='utf-8').count('def test_')} passed" in done.stdout


def test_a_test_run_that_does_not_name_the_fixtures_imports_nothing_of_ours(tmp_path: Path) -> None:
    test = tmp_path / "test_other.py"
    test.write_text("import sys\n\n\ndef test_other():\n    assert 'bandmaster' not in sys.modules\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:valkey", str(test)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_package_works_where_pytest_is_not_installed(tmp_path: Path) -> None:
    code = "import sys; sys.modules['pytest'] = None; import bandmaster.testing; bandmaster.testing.BandedStubBroker()"
    subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)

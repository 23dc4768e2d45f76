"""Each fault that is promised to be survived has its number, and tests that there are."""

import re
from pathlib import Path
from typing import Final

import pytest

from docs.documents import ROOT, text_of

FAULTS: Final = 40
GUARANTEES: Final = ROOT / "docs/guarantees.md"
SECTION: Final = re.compile(r"^### F(\d+) (.+?)\n\n(.+?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
NAMED: Final = re.compile(r"`(tests/[\w./-]+)`")
HAS_TESTS: Final = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)


def test_the_faults_are_numbered_without_a_gap() -> None:
    numbers = [int(number) for number, _, _ in SECTION.findall(text_of(GUARANTEES))]
    assert numbers == list(range(1, FAULTS + 1))


@pytest.mark.parametrize(("number", "body"), [(one, body) for one, _, body in SECTION.findall(text_of(GUARANTEES))])
def test_each_fault_says_what_holds_and_names_files_that_have_tests(number: str, body: str) -> None:
    holds, _, tests = body.partition("Tests:")
    assert holds.strip(), f"F{number} says nothing"
    paths = [ROOT / path for path in NAMED.findall(tests)]
    assert paths, f"F{number} names no test"
    for path in paths:
        assert HAS_TESTS.search("\n".join(_texts(path))), f"F{number}: {path} has no test"


def _texts(path: Path) -> list[str]:
    files = sorted(path.rglob("test_*.py")) if path.is_dir() else [path]
    return [text_of(file) for file in files]

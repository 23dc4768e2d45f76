"""Each fault that is promised to be survived has its number, and tests that there are."""

import ast
import re
from typing import Final

from docs.documents import ROOT, text_of

FAULTS: Final = 40
GUARANTEES: Final = ROOT / "docs/guarantees.md"
SECTION: Final = re.compile(r"^### F(\d+) (.+?)\n\n(.+?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
NAMED: Final = re.compile(r"`(tests/[\w./-]+)`")
NO_TESTS: Final = "tests/model/invariants.py"
"""Named because the tests of faults check them."""


def test_the_faults_are_numbered_without_a_gap() -> None:
    numbers = [int(number) for number, _, _ in SECTION.findall(text_of(GUARANTEES))]
    assert numbers == list(range(1, FAULTS + 1))


def test_each_fault_says_what_holds_and_names_tests() -> None:
    faults = {number: body.partition("Tests:") for number, _, body in SECTION.findall(text_of(GUARANTEES))}
    assert {
        number for number, (holds, _, tests) in faults.items() if not holds.strip() or not NAMED.findall(tests)
    } == set()


def test_what_is_named_are_files_with_tests_that_make_check_runs() -> None:
    files = {
        name: text_of(path) if (path := ROOT / name).is_file() else "" for name in NAMED.findall(text_of(GUARANTEES))
    }
    assert len(files) > FAULTS
    assert {name for name, text in files.items() if name != NO_TESTS and not in_every_check(text)} == set()


def in_every_check(text: str) -> list[str]:
    """The tests of a file of which `make check` runs at least some cases: neither they nor the file are nightly."""
    body = ast.parse(text).body
    if any("nightly" in ast.unparse(each) for each in body if isinstance(each, ast.Assign) and is_of_all(each)):
        return []
    tests = [each for each in body if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)]
    return [
        each.name
        for each in tests
        if each.name.startswith("test_") and "pytest.mark.nightly" not in map(ast.unparse, each.decorator_list)
    ]


def is_of_all(assigned: ast.Assign) -> bool:
    """Whether it is a file's `pytestmark`."""
    return ast.unparse(assigned.targets[0]) == "pytestmark"


def test_a_file_that_is_left_to_the_night_is_found() -> None:
    here, there = "def test_a(): ...\n", "@pytest.mark.nightly\ndef test_b(): ...\n"
    assert in_every_check(here + there) == ["test_a"]
    assert in_every_check(there) == []
    assert in_every_check("pytestmark = [pytest.mark.cluster, pytest.mark.nightly]\n" + here) == []

"""Each fault that is promised to be survived has its number, and tests that there are."""

import re
from typing import Final

from docs.documents import ROOT, text_of

FAULTS: Final = 40
GUARANTEES: Final = ROOT / "docs/guarantees.md"
SECTION: Final = re.compile(r"^### F(\d+) (.+?)\n\n(.+?)(?=^##|\Z)", re.MULTILINE | re.DOTALL)
NAMED: Final = re.compile(r"`(tests/[\w./-]+)`")
HAS_TESTS: Final = re.compile(r"^\s*(?:async )?def test_", re.MULTILINE)
BY_NIGHT: Final = re.compile(r"^pytestmark = .*\bnightly\b", re.MULTILINE)


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
    assert {
        name for name, text in files.items() if name != "tests/model/invariants.py" and not HAS_TESTS.search(text)
    } == set()
    assert {name for name, text in files.items() if BY_NIGHT.search(text)} == set()

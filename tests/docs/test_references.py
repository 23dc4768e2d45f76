"""What documents name is there: tests, links, commands of make."""

import re
from pathlib import Path
from typing import Final

import pytest

from docs.documents import FENCE, ROOT, anchor, documents, headings, name_of, text_of

TEST_PATH: Final = re.compile(r"(?<![\w/.-])(tests/[\w./-]*\w)(?:::(\w+))?")
LINK: Final = re.compile(r"\]\(<?([^)\s>]+)>?\)")
APPLICATIONS: Final = re.compile(r"\b(\w+)\s+small\s+applications")
NUMBERS: Final = {8: "eight", 9: "nine", 10: "ten", 11: "eleven", 12: "twelve"}
MAKE: Final = re.compile(r"`make ([a-z-]+)")

each_document = pytest.mark.parametrize("document", documents(), ids=name_of)


@each_document
def test_every_test_that_is_named_exists(document: Path) -> None:
    for path, test in TEST_PATH.findall(text_of(document)):
        assert (ROOT / path).exists(), path
        if test:
            assert re.search(rf"^\s*(?:async )?def {test}\(", text_of(ROOT / path), re.MULTILINE), f"{path}::{test}"


@each_document
def test_every_relative_link_leads_somewhere(document: Path) -> None:
    for link in LINK.findall(FENCE.sub("", text_of(document))):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (document.parent / path) if path else document
        assert target.exists(), link
        if fragment:
            assert fragment in map(anchor, headings(target)), link


@each_document
def test_every_command_of_make_that_is_named_exists(document: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", text_of(ROOT / "Makefile"), re.MULTILINE))
    assert set(MAKE.findall(text_of(document))) <= targets


@each_document
def test_the_examples_are_as_many_as_is_said(document: Path) -> None:
    there = set(re.findall(r"^\| \[([\w.]+)/?\]", text_of(ROOT / "examples" / "README.md"), re.MULTILINE))
    examples = {each.name for each in (ROOT / "examples").iterdir() if each.name == "tested" or each.suffix == ".py"}
    assert there == examples
    said = {number.lower() for number in APPLICATIONS.findall(text_of(document))}
    assert said <= {NUMBERS[len(there)]}


def test_there_are_documents() -> None:
    assert {"README.md", "docs/architecture.md", "docs/guarantees.md"} <= set(map(name_of, documents()))

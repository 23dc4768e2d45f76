"""Each D… and F… that code, tests or documents cite is a heading of the documents."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from docs.documents import ROOT, documents, headings, name_of, sources, text_of

WHERE: Final = {"D": ROOT / "docs" / "design" / "defects.md", "F": ROOT / "docs" / "guarantees.md"}
HOW_MANY: Final = {"D": 43, "F": 40}
CITED: Final = re.compile(r"(?<![\w.#%-])([DF])(\d{1,2})(?!\w)")
IN_A_NAME: Final = re.compile(r"\btest_((?:[df]\d+_)+)")


def numbers_in(text: str) -> Iterator[tuple[str, int]]:
    """What is cited, also in the names of tests."""
    for letter, number in CITED.findall(text):
        yield letter, int(number)
    for numbers in IN_A_NAME.findall(text):
        for letter, number in re.findall(r"([df])(\d+)_", numbers):
            yield letter.upper(), int(number)


def explained(letter: str) -> list[int]:
    """The numbers that have a heading."""
    found = (re.match(rf"{letter}(\d+) \S", heading) for heading in headings(WHERE[letter]))
    return [int(match[1]) for match in found if match]


@pytest.mark.parametrize("letter", ["D", "F"])
def test_every_number_has_one_heading_in_order(letter: str) -> None:
    assert explained(letter) == list(range(1, HOW_MANY[letter] + 1))


def test_every_number_that_is_cited_is_explained() -> None:
    def cited(path: Path) -> set[tuple[str, int]]:
        return {*numbers_in(text_of(path)), *numbers_in(path.name)}

    known = {(letter, number) for letter in WHERE for number in explained(letter)}
    missing = {name_of(path): cited(path) - known for path in (*sources(), *documents())}
    assert {path: numbers for path, numbers in missing.items() if numbers} == {}


def test_numbers_are_found_in_text_and_in_names() -> None:
    assert set(numbers_in("slot (D5), see `F14` and test_d10_d11_an_end")) == {
        ("D", 5),
        ("F", 14),
        ("D", 10),
        ("D", 11),
    }
    assert list(numbers_in("noqa: F401, D100, 0xD5, UTF8, #F00")) == []

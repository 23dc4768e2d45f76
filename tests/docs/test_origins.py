"""Every row of docs/origins.md names the test that holds, or cites a pitfall that made it different."""

import re
from typing import Final

from docs.documents import ROOT, text_of

ORIGINS: Final = ROOT / "docs" / "origins.md"
ANSWER: Final = re.compile(r"`tests/[\w/]+(\.py(::test_\w+)?)?`|\bD\d+\b")


def rows() -> list[list[str]]:
    """The cells of each row of each table, without the heads."""
    lines = [line for line in text_of(ORIGINS).splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return [row for row in cells if not set(row[0]) <= {"-"} and row[0] != "there"]


def test_every_row_has_three_cells_and_an_answer() -> None:
    assert len(rows()) > 70
    assert [row for row in rows() if len(row) != 3 or not ANSWER.search(row[2])] == []


def test_all_five_documents_are_there() -> None:
    titles = re.findall(r"^## (\d) ", text_of(ORIGINS), re.MULTILINE)
    assert titles == ["1", "2", "3", "4", "5"]

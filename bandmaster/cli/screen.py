"""What reaches the terminal: text whose control characters are escaped, tables that fit, JSON, and notes on stderr.

In the flow: every command writes through here only. What programs print and what callers send is untrusted: an escape
sequence in it must not move the cursor, forge a line or change the title (F27). Results go to standard output, notes
and progress to standard error; where standard output is no terminal there is neither colour nor a width to keep to.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that do something instead of being seen: control, direction marks, line separators."""

_WIDE: Final = 100_000
"""Columns where nobody looks: nothing is cut or wrapped in a pipe or a file."""

_GAP: Final = 2
_LEAST: Final = 4
STATE_STYLES: Final = {
    "RUNNING": "cyan",
    "POD": "cyan",
    "CANCELLING": "yellow",
    "COMPLETED": "green",
    "FAILED": "red",
    "TIMEOUT": "yellow",
    "CANCELLED": "magenta",
    "EXPIRED": "yellow",
}


@cache
def output() -> Console:
    """Standard output."""
    # NO_COLOR and TERM are Rich's to read.
    width = None if sys.stdout.isatty() else _WIDE
    return Console(width=width, highlight=False, markup=False, emoji=False, soft_wrap=False)


@cache
def notes() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, markup=False, emoji=False)


def escaped(text: str, *, keep: str = "") -> str:
    r"""The text with every character that does something written out, like ``\x1b``, but for those to `keep`."""
    if text.isprintable():
        return text
    return "".join(
        c.encode("unicode_escape").decode() if c not in keep and unicodedata.category(c) in _UNSAFE else c for c in text
    )


def escaped_lines(text: str) -> str:
    """The same for output of several lines: newlines and tabs stay."""
    return escaped(text, keep="\n\t")


def say(text: str | Text = "", style: str = "") -> None:
    """One line on standard output, escaped; never cut."""
    line = Text(escaped(text), style=style) if isinstance(text, str) else text
    output().print(line, soft_wrap=True)


def say_json(document: object, *, line: bool = False) -> None:
    """One JSON document, or one JSON line, on standard output. Everything beyond ASCII is escaped."""
    sys.stdout.write(json.dumps(document, indent=None if line else 2) + "\n")
    sys.stdout.flush()


def note(text: str) -> None:
    """One line on standard error, as all of ours there begin."""
    sys.stdout.flush()
    sys.stderr.write(f"bandmaster: {escaped(text)}\n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        heading: Its heading.
        right: Whether figures are aligned to the right.
        gives: Whether it may be cut (with an ellipsis) where the terminal is too narrow; else it is kept whole.
        folds: Whether a cell of it may go on on the next line, as a very long id must.
    """

    heading: str
    right: bool = False
    gives: bool = False
    folds: bool = False


def say_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output, escaped; a cell that is a state gets its colour."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    widths = _fitted(columns, cells, output().width)
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="bold")
    for column, width in zip(columns, widths, strict=True):
        table.add_column(
            column.heading,
            justify="right" if column.right else "left",
            no_wrap=not column.folds,
            overflow="fold" if column.folds else "ellipsis",
            min_width=width,
            max_width=width,
        )
    for row in cells:
        table.add_row(*(Text(cell, style=STATE_STYLES.get(cell, "")) for cell in row))
    output().print(table)


def _fitted(columns: Sequence[Column], cells: Sequence[Sequence[str]], available: int) -> list[int]:
    """The columns' widths: as wide as their cells, but what `gives` gives way, the widest first."""
    widths = [
        max([cell_len(column.heading), *(cell_len(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    excess = sum(widths) + _GAP * len(columns) - available
    giving = [index for index, column in enumerate(columns) if column.gives or column.folds]
    while excess > 0 and giving:
        widest = max(giving, key=lambda index: (columns[index].gives, widths[index]))
        least = max(_LEAST, cell_len(columns[widest].heading))
        if widths[widest] <= least:
            giving.remove(widest)
            continue
        widths[widest] -= 1
        excess -= 1
    return widths


def say_facts(facts: Iterable[tuple[str, Any]]) -> None:
    """Names and values, one a line, aligned; a value of None is left out, a list takes a line an element."""
    known = [(name, value) for name, value in facts if value is not None]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        for position, each in enumerate(value if isinstance(value, list) else [value]):  # pyright: ignore[reportUnknownVariableType,reportUnknownArgumentType]
            text = Text(f"{name if position == 0 else '':<{width}}  ", style="bold")
            shown = escaped(str(each))  # pyright: ignore[reportUnknownArgumentType]
            say(text.append(shown, style=STATE_STYLES.get(shown, "not bold")))

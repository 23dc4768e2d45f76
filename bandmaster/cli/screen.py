"""Writes results to the terminal: text with escaped control characters, tables that fit, and JSON.

In the flow: every command writes only through here. The output of programs and the input of callers are untrusted: an
escape sequence in them must not move the cursor, forge a line or change the title (F27). Results go to standard output,
notes and progress to standard error. If standard output is no terminal, there are no colours and no width limit.
"""

import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Final, cast

import typer
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bandmaster.cli.notes import escaped

LISTED_AT_MOST: Final = 1_000_000
"""The most lines that a command can be asked for."""

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
"""The option of all commands that print a document by `say_json`."""

_WIDE: Final = 100_000
"""The width, in columns, of a pipe or a file: nothing is cut or wrapped there."""

GAP: Final = 2
"""Blanks between two columns."""

LEAST_CHARS: Final = 6
"""The least width of a column that is cut."""

FOLDED_CHARS: Final = 36
"""The least width of a column that is folded: a UUID is never folded, however narrow the terminal."""

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
    return _console(stderr=False, width=None if sys.stdout.isatty() else _WIDE)


@cache
def notes() -> Console:
    """Standard error."""
    return _console(stderr=True, width=None)


def _console(*, stderr: bool, width: int | None) -> Console:
    console = Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False)
    if console.no_color:
        # Rich respects NO_COLOR, but would still print bold and dim.
        return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    return console


def say(text: str | Text = "", style: str = "") -> None:
    """Write one line to standard output, escaped, never cut."""
    line = Text(escaped(text), style=style) if isinstance(text, str) else text
    output().print(line, soft_wrap=True)


def say_json(document: object, *, line: bool = False) -> None:
    """Write one JSON document, or one JSON line, to standard output. Characters beyond ASCII are escaped."""
    sys.stdout.write(json.dumps(document, indent=None if line else 2) + "\n")
    sys.stdout.flush()


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        heading: Its heading.
        right: Whether it is aligned to the right, as for figures.
        gives: Whether it may be cut (with an ellipsis) if the terminal is too narrow.
        drops: Whether it may be left out then.
        folds: Whether a cell may continue in the next line, as a very long id must; else it is kept whole.
    """

    heading: str
    right: bool = False
    gives: bool = False
    drops: bool = False
    folds: bool = False


def say_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to standard output, escaped; a cell that is a state gets its colour."""
    table = table_of(columns, rows)
    # If the table is still too wide, the terminal wraps it: Rich would leave out whole columns.
    width = sum((each.width or 0) + GAP for each in table.columns)
    output().print(table, width=width, crop=False)


def table_of(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> Table:
    """Make the table that fits into standard output, with escaped cells."""
    cells = [[escaped(cell) for cell in row] for row in rows]
    natural = [
        max([cell_len(column.heading), *(cell_len(row[index]) for row in cells)])
        for index, column in enumerate(columns)
    ]
    widths = fitted(columns, natural, output().width)
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False, header_style="bold")
    for index, width in widths.items():
        table.add_column(
            columns[index].heading,
            justify="right" if columns[index].right else "left",
            no_wrap=not columns[index].folds,
            overflow="fold" if columns[index].folds else "ellipsis",
            width=width,
        )
    for row in cells:
        table.add_row(*(Text(row[index], style=STATE_STYLES.get(row[index], "")) for index in widths))
    return table


def fitted(columns: Sequence[Column], natural: Sequence[int], available: int) -> dict[int, int]:
    """Choose the columns that fit into a terminal, and their widths.

    First, columns with `gives` are cut, down to a few characters. Then columns with `drops` are left out, the last
    first. An id is folded only if that is not enough.
    """
    widths = dict(enumerate(natural))

    def excess() -> int:
        return sum(widths.values()) + GAP * (len(widths) - 1) - available

    def shrink(indexes: list[int], least_chars: int) -> None:
        while excess() > 0 and indexes:
            widest = max(indexes, key=lambda index: widths[index])
            if widths[widest] <= least_chars:
                return
            widths[widest] -= 1

    def kept(wanted: Callable[[Column], bool]) -> list[int]:
        return [index for index in widths if wanted(columns[index])]

    least = {index: min(width, LEAST_CHARS) if columns[index].gives else width for index, width in widths.items()}
    while droppable := kept(lambda column: column.drops):
        if sum(least[index] for index in widths) + GAP * (len(widths) - 1) <= available:
            break
        del widths[droppable[-1]]
    shrink(kept(lambda column: column.gives), LEAST_CHARS)
    shrink(kept(lambda column: column.folds), FOLDED_CHARS)
    return widths


def say_facts(facts: Iterable[tuple[str, object]]) -> None:
    """Write names and values, aligned; None is left out, a list takes a line per element, long lines are folded."""
    known = [(name, value) for name, value in facts if value is not None]
    width = max((len(name) for name, _ in known), default=0)
    for name, value in known:
        values = cast("list[object]", value) if isinstance(value, list) else [value]
        for position, each in enumerate(values):
            shown = escaped(str(each))
            for line_number, line in enumerate(folded(shown, output().width - width - GAP)):
                heading = Text(f"{name if position == line_number == 0 else '':<{width}}  ", style="bold")
                say(Text.assemble(heading, (line, STATE_STYLES.get(shown, ""))))


def folded(text: str, available: int) -> list[str]:
    """Break a text into lines that fit; only at blanks, so that a word without blanks (an id, a path) stays whole."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line.strip() and cell_len(line) + 1 + cell_len(word) > available:
            lines.append(line.rstrip())
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]

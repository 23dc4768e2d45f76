"""What reaches the terminal: text whose control characters are escaped, tables that fit, JSON, and notes on stderr.

In the flow: every command writes through here only. What programs print and what callers send is untrusted: an escape
sequence in it must not move the cursor, forge a line or change the title (F27). Results go to standard output, notes
and progress to standard error; where standard output is no terminal there is neither colour nor a width to keep to.
"""

import contextlib
import json
import sys
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from bandmaster.cli.streams import StreamLost

_UNSAFE: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
"""Categories of characters that do something instead of being seen: control, direction marks, line separators."""

LISTED_AT_MOST: Final = 1_000_000
"""Lines that a command can be asked for."""

_WIDE: Final = 100_000
"""Columns where nobody looks: nothing is cut or wrapped in a pipe or a file."""

GAP: Final = 2
"""Blanks between two columns."""

LEAST_CHARS: Final = 6
"""A column that is cut keeps as many."""

FOLDED_CHARS: Final = 36
"""A column that is folded keeps as many: a UUID is never folded, however narrow the terminal."""

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
        # Rich reads NO_COLOR, but would go on with bold and dim.
        return Console(stderr=stderr, width=width, highlight=False, markup=False, emoji=False, color_system=None)
    return console


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
    """One line on standard error, as all of ours there begin; where that is gone, the command goes on without."""
    sys.stdout.flush()
    with contextlib.suppress(StreamLost):
        sys.stderr.write(f"bandmaster: {escaped(text)}\n")


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Args:
        heading: Its heading.
        right: Whether figures are aligned to the right.
        gives: Whether it may be cut (with an ellipsis) where the terminal is too narrow.
        drops: Whether it may be left out there.
        folds: Whether a cell of it may go on in the next line, as a very long id must; else it is kept whole.
    """

    heading: str
    right: bool = False
    gives: bool = False
    drops: bool = False
    folds: bool = False


def say_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    """A table on standard output, escaped; a cell that is a state gets its colour."""
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
            min_width=width,
            max_width=width,
        )
    for row in cells:
        table.add_row(*(Text(row[index], style=STATE_STYLES.get(row[index], "")) for index in widths))
    # What is still too wide is left to the terminal to wrap: Rich would leave out whole columns.
    output().print(table, width=sum(widths.values()) + GAP * len(widths), crop=False)


def fitted(columns: Sequence[Column], natural: Sequence[int], available: int) -> dict[int, int]:
    """Which columns fit into a terminal, and how wide each is.

    Columns that give are cut first, down to a few characters; then those that drop are left out, the last first; an id
    is folded only where nothing else is left to give.
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
    """Names and values, aligned; None is left out, a list takes a line an element, a long line goes on below itself."""
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
    """The lines of a text that fit; only at blanks, so that what has none (an id, a path) can be copied whole."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line.strip() and cell_len(line) + 1 + cell_len(word) > available:
            lines.append(line.rstrip())
            line = word
        else:
            line = f"{line} {word}" if line else word
    return [*lines, line]

"""Prints the answers as tables: medians with minimum and maximum, ratios to the first side, targets."""

from collections.abc import Sequence
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from .machine import Machine
from .results import Answer, Spread
from .rig import Size

WIDTH: Final = 150
"""The width of the output if it is no terminal."""


SMALLER: Final = " (there is less of everything than the names say: --size full measures that)"


def said_of(size: str) -> str:
    """Return what stands behind the name of a size at which the names of sides promise too much."""
    return SMALLER if Size[size.upper()] < Size.FULL else ""


def show(machine: Machine, size: str, answers: Sequence[Answer]) -> None:
    """Print one table per question, then the number of reached targets."""
    console = Console()
    if not console.is_terminal:
        console = Console(width=WIDTH)
    console.print(f"{machine}\nsize: {size}{said_of(size)}", style="bold")
    for answer in answers:
        console.print()
        console.print(_table(answer))
    verdicts = [verdict for answer in answers for verdict in answer.verdicts()]
    reached = sum(verdict.reached for verdict in verdicts)
    console.print(f"{reached} of {len(verdicts)} targets reached")


def shown(value: float) -> str:
    """Format a value with three significant digits, whole numbers as they are."""
    if value >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 0.1 else f"{value:.3g}"


def _table(answer: Answer) -> Table:
    question, first = answer.question, answer.question.sides[0]
    table = Table(title=f"{question.name}: {question.asks}", title_justify="left", title_style="bold", box=SIMPLE_HEAD)
    table.add_column("")
    table.add_column("figure")
    for heading in ("median", "least – most", f"× {first}"):
        table.add_column(heading, justify="right")
    table.add_column("target")
    table.add_column("reached")
    for side in question.sides:
        for number, figure in enumerate(question.figures):
            spread = answer.spread(side, figure.name)
            if spread is None:
                continue
            ratio = None if side == first else answer.ratio(side, figure.name, first)
            table.add_row(
                side if number == 0 else "",
                figure.name,
                f"{shown(spread.median)} {figure.unit}",
                _range(spread),
                shown(ratio.median) if ratio else "",
                *_targets(answer, side, figure.name),
            )
    return table


def _targets(answer: Answer, side: str, figure: str) -> tuple[str, str]:
    targets: list[str] = []
    reached: list[str] = []
    for verdict in answer.verdicts():
        target = verdict.target
        if (target.side, target.figure) == (side, figure):
            targets.append(target.text)
            word = "[green]yes[/]" if verdict.reached else "[red]no[/]"
            reached.append(f"{word} ({shown(verdict.value.median)})" if target.of_side else word)
    return "\n".join(targets), "\n".join(reached)


def _range(spread: Spread) -> str:
    low, high = min(spread.values), max(spread.values)
    return f"{shown(low)} – {shown(high)}" if len(spread.values) > 1 else ""

"""Formats the answers as the README's Markdown table: one row per figure, with the machine above it.

In the flow: `__main__` writes it beside the JSON. It shows medians with minimum and maximum, ratios to the first side,
and whether targets were reached; a figure that was measured once has no range.
"""

from collections.abc import Sequence

from .machine import Machine
from .results import Answer, Spread
from .table import said_of, shown

HEAD = "| question | | figure | median | least – most | ratio to the first | target | reached |"
RULE = "|---|---|---|---:|---:|---:|---|---|"


def to_markdown(machine: Machine, size: str, answers: Sequence[Answer]) -> str:
    """Format all answers."""
    runs = max((len(run) for answer in answers for run in answer.runs.values()), default=0)
    lines = [f"Measured on {machine}; size {size}{said_of(size)}, at most {runs} interleaved runs.", "", HEAD, RULE]
    for answer in answers:
        lines += _rows(answer)
    verdicts = [verdict for answer in answers for verdict in answer.verdicts()]
    lines += ["", f"{sum(verdict.reached for verdict in verdicts)} of {len(verdicts)} targets reached."]
    return "\n".join(lines) + "\n"


def _rows(answer: Answer) -> list[str]:
    question, rows = answer.question, list[str]()
    asks, first = question.asks, question.sides[0]
    for side in question.sides:
        name = side
        for figure in question.figures:
            spread = answer.spread(side, figure.name)
            if spread is None:
                continue
            ratio = None if side == first else answer.ratio(side, figure.name, first)
            times = f"{shown(ratio.median)} ×" if ratio else ""
            cells = (asks, name, figure.name, f"{shown(spread.median)} {figure.unit}", _range(spread), times)
            rows.append("| " + " | ".join((*cells, *_verdicts(answer, side, figure.name))) + " |")
            asks = name = ""
    return rows


def _verdicts(answer: Answer, side: str, figure: str) -> tuple[str, str]:
    targets: list[str] = []
    reached: list[str] = []
    for verdict in answer.verdicts():
        if (verdict.target.side, verdict.target.figure) == (side, figure):
            targets.append(verdict.target.text)
            word = "yes" if verdict.reached else "**no**"
            reached.append(f"{word} ({shown(verdict.value.median)})" if verdict.target.of_side else word)
    return "; ".join(targets), "; ".join(reached)


def _range(spread: Spread) -> str:
    return f"{shown(min(spread.values))} – {shown(max(spread.values))}" if len(spread.values) > 1 else ""

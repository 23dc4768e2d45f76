"""The results: every value of every run, with median, minimum and maximum, ratios and targets; written as JSON.

A ratio is the median of the ratios of the runs: a run measures both sides directly one after the other, so a disturbed
machine slows both. In the flow: the runner fills the results; the table, the chart and the README show them.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from .machine import Machine
from .question import Measured, Question, Target


@dataclass(frozen=True, slots=True)
class Spread:
    """The values of one figure, one per run."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of the values."""
        return median(self.values)

    def summary(self) -> dict[str, Any]:
        """The values and their statistics as a JSON object."""
        values = list(self.values)
        return {"median": self.median, "min": min(values), "max": max(values), "values": values}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target and the values to compare with it."""

    target: Target
    value: Spread

    @property
    def reached(self) -> bool:
        """Whether the median reaches the target."""
        return self.target.is_reached(self.value.median)


@dataclass(slots=True)
class Answer:
    """One question's runs, by side."""

    question: Question
    runs: dict[str, list[Measured]] = field(default_factory=dict[str, "list[Measured]"])

    def add(self, side: str, measured: Measured) -> None:
        """Add one side's next run."""
        self.runs.setdefault(side, []).append(measured)

    def spread(self, side: str, figure: str) -> Spread | None:
        """The values of one side's figure; None if there are none."""
        values = tuple(run[figure] for run in self.runs[side] if figure in run)
        return Spread(values) if values else None

    def ratio(self, side: str, figure: str, of_side: str, of_figure: str | None = None) -> Spread | None:
        """The ratio of one side's figure to another's, run by run; None if either is missing, or is 0."""
        mine, others = self.spread(side, figure), self.spread(of_side, of_figure or figure)
        if mine is None or others is None or not all(others.values):
            return None
        return Spread(tuple(a / b for a, b in zip(mine.values, others.values, strict=True)))

    def verdicts(self) -> list[Verdict]:
        """The question's targets, with their values."""
        found: list[Verdict] = []
        for target in self.question.targets:
            if target.of_side is None:
                value = self.spread(target.side, target.figure)
            else:
                value = self.ratio(target.side, target.figure, target.of_side, target.of_figure)
            if value is not None:
                found.append(Verdict(target, value))
        return found


def write(path: Path, text: str) -> None:
    """Write results, in any format, to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def to_json(machine: Machine, size: str, answers: Sequence[Answer]) -> str:
    """Format all results as JSON."""
    questions = [_question(answer) for answer in answers]
    return json.dumps({"machine": asdict(machine), "size": size, "questions": questions}, indent=2, ensure_ascii=False)


def _question(answer: Answer) -> dict[str, Any]:
    question, first = answer.question, answer.question.sides[0]
    sides: list[dict[str, Any]] = []
    for side in question.sides:
        figures: list[dict[str, Any]] = []
        for figure in question.figures:
            spread = answer.spread(side, figure.name)
            if spread is None:
                continue
            ratio = None if side == first else answer.ratio(side, figure.name, first)
            figures.append(
                {"name": figure.name, "unit": figure.unit, **spread.summary(), "ratio": ratio and ratio.summary()}
            )
        sides.append({"name": side, "figures": figures})
    targets = [
        {
            "side": verdict.target.side,
            "figure": verdict.target.figure,
            "target": verdict.target.text,
            "reached": verdict.reached,
            **verdict.value.summary(),
        }
        for verdict in answer.verdicts()
    ]
    return {"name": question.name, "asks": question.asks, "sides": sides, "targets": targets}

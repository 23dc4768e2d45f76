"""What came out: every value of every run, with medians, least and most, ratios and targets; written as JSON.

A ratio is the median of the runs' own ratios: its two sides were measured one after the other, so what slowed the
machine down in that minute slowed both. In the flow: the runner fills it, the table, the chart and the README read it.
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
    """One value a run."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return median(self.values)

    def summary(self) -> dict[str, Any]:
        """As JSON has it."""
        values = list(self.values)
        return {"median": self.median, "min": min(values), "max": max(values), "values": values}


@dataclass(frozen=True, slots=True)
class Verdict:
    """A target, and how far it was."""

    target: Target
    value: Spread

    @property
    def reached(self) -> bool:
        """Whether the median reaches it."""
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
        """A figure of one side; None if it has none."""
        values = tuple(run[figure] for run in self.runs[side] if figure in run)
        return Spread(values) if values else None

    def ratio(self, side: str, figure: str, of_side: str, of_figure: str | None = None) -> Spread | None:
        """A figure of one side by that of another, run by run; None if either has none, or is 0."""
        mine, others = self.spread(side, figure), self.spread(of_side, of_figure or figure)
        if mine is None or others is None or not all(others.values):
            return None
        return Spread(tuple(a / b for a, b in zip(mine.values, others.values, strict=True)))

    def verdicts(self) -> list[Verdict]:
        """The question's targets."""
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
    """Write the results, in whatever form, where they are looked for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def to_json(machine: Machine, size: str, answers: Sequence[Answer]) -> str:
    """All of it."""
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

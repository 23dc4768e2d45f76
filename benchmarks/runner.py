"""Runs questions: each side in turn, run after run, so that a disturbance of the machine affects all sides alike.

In the flow: `__main__` passes the questions and gets the answers. Every other run takes the sides in reverse order, so
that no side is always first.
"""

import sys
import time
from collections.abc import Iterable

from .question import Question
from .results import Answer
from .rig import Rig


def run_all(rig: Rig, questions: Iterable[Question], runs: int) -> list[Answer]:
    """Run all questions."""
    return [run(rig, question, runs) for question in questions]


def run(rig: Rig, question: Question, runs: int) -> Answer:
    """Run one question so many times, or as often as it specifies itself."""
    answer, began = Answer(question), time.monotonic()
    rig.empty()
    if question.prepare is not None:
        question.prepare(rig)
    for number in range(question.runs or runs):
        for side in question.sides if number % 2 == 0 else reversed(question.sides):
            if question.prepare is None:
                rig.empty()
            answer.add(side, question.measure(rig, side))
    rig.empty()
    sys.stderr.write(f"{question.name}: {time.monotonic() - began:.1f} s\n")
    return answer

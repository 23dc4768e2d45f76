"""Verdicts as the API's documents have them.

In the flow: routes that tell figures tell with them what somebody should look at.
"""

from collections.abc import Iterable

from ...scheduler.verdicts import Verdict, ordered
from ..answers.figures import VerdictAnswer


def verdict_answers(verdicts: Iterable[Verdict]) -> list[VerdictAnswer]:
    """Return them, the worst first."""
    return [
        VerdictAnswer(code=each.code, severity=each.severity, subject=each.subject, sentence=each.sentence)
        for each in ordered(verdicts)
    ]

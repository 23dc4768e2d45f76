"""Runs mutants, each against the cases that execute what it changes, until one fails or all passed.

In the flow: after `covering`; `results` compares what it found. The case that killed the mutant before comes first,
then the quickest, one of each test before the second of any; more than a budget of seconds is not run. A run that takes
far longer than it may counts as killed: something hangs.
"""

import os
import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final, Protocol

from .covering import CHOSEN, Case
from .results import Outcome, Result
from .trees import Tree, in_copies

_BATCHES: Final = (0, 1, 8, 40, 160)
"""So many cases together: most mutants die early, by the first one if it is known, and each run begins anew."""
_HUNG_SECONDS: Final = 900.0
_HUNG_TIMES: Final = 10.0
"""A run has hung after so many seconds, and so many times as long as its cases took."""
_ENOUGH: Final = 400
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?: - .*)?$", re.MULTILINE)
_MISUSED: Final = (4, 5)
"""Exit codes of pytest: wrong arguments (or a conftest.py that fails), and no case found."""


class Change(Protocol):
    """A mutant of either language."""

    @property
    def name(self) -> str: ...

    @property
    def file(self) -> str: ...

    def applied(self, source: bytes) -> bytes: ...

    def cases(self, all_cases: Sequence[Case], /) -> list[Case]: ...


def run(
    tree: Path,
    mutants: Iterable[Change],
    cases: Sequence[Case],
    killers: Mapping[str, str],
    *,
    budget_seconds: float,
    jobs: int,
) -> Iterator[Result]:
    """Run each mutant.

    Args:
        tree: The working tree; it stays as it is.
        mutants: In this order.
        cases: Those that `covering` found.
        killers: What killed a mutant of this name before, if anything did.
        budget_seconds: Of cases, for each mutant.
        jobs: So many at once.

    Yields:
        Their results, in that order.
    """

    def run_next(copy: Tree, numbered: tuple[int, Change]) -> Result:
        number, mutant = numbered
        there = [case for case in mutant.cases(cases) if (copy.root / case.file).exists()]
        return _run_one(copy, number, mutant, _chosen(there, killers.get(mutant.name, ""), budget_seconds))

    yield from in_copies(tree, jobs, enumerate(mutants, 1), run_next)


def _run_one(copy: Tree, number: int, mutant: Change, chosen: list[Case]) -> Result:
    path, began = copy.root / mutant.file, time.monotonic()
    source, times = path.read_bytes(), path.stat()
    path.write_bytes(mutant.applied(source))
    # A time that no other change had: else Python might take another one's compiled file for this one's.
    os.utime(path, (times.st_atime, times.st_mtime + number))
    try:
        outcome, by = _judged(copy, chosen)
    finally:
        path.write_bytes(source)
        os.utime(path, (times.st_atime, times.st_mtime))
    return Result(mutant.name, outcome, by, round(time.monotonic() - began, 1))


def _judged(copy: Tree, chosen: list[Case]) -> tuple[Outcome, str]:
    for begin, end in pairwise((*_BATCHES, _ENOUGH)):
        batch = sorted(chosen[begin:end], key=lambda case: _place(case, chosen[begin:end]))
        if not batch:
            break
        bound = _HUNG_SECONDS + _HUNG_TIMES * sum(case.seconds for case in batch)
        code, said = copy.pytest(("-x", *CHOSEN, *(case.name for case in batch)), within_seconds=bound)
        if code is None:
            return Outcome.HUNG, ""
        # Ended from outside, or nothing run: that says nothing of the mutant.
        if code < 0 or (code in _MISUSED and "while loading conftest" not in said):
            raise LookupError(f"pytest did not run (exit code {code}): {said[-500:]}")
        if code:
            failed = _FAILED.search(said)
            return Outcome.KILLED, failed[1] if failed else "the tests could not be loaded"
    return Outcome.SURVIVED if chosen else Outcome.UNCOVERED, ""


def _chosen(cases: Sequence[Case], killer: str, budget_seconds: float) -> list[Case]:
    """Those that fit into the budget, in the order in which they are worth to be tried."""
    ranks = Counter[str]()
    ranked: list[tuple[bool, int, float, Case]] = []
    for case in sorted(cases, key=lambda case: case.seconds):
        ranks[case.function] += 1
        ranked.append((case.name not in (killer, killer.partition("::")[0]), ranks[case.function], case.seconds, case))
    ranked.sort(key=lambda each: each[:3])
    chosen, seconds = list[Case](), 0.0
    for *_, case in ranked[:_ENOUGH]:
        seconds += case.seconds
        if chosen and seconds > budget_seconds:
            break
        chosen.append(case)
    return chosen


def _place(case: Case, batch: Sequence[Case]) -> tuple[int, str]:
    """Cases of a file stay together, the files in the order of their first case."""
    return next(i for i, each in enumerate(batch) if each.file == case.file), case.file

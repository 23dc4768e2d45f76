"""Which cases execute which lines of Python, and how long each takes; collected once for a tree.

In the flow: before `running`, which chooses the cases of a mutant by it. A line of JSON for some test files is
appended as their run ends, so an interrupted collection goes on where it was. What a case executes in other processes
is not seen.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from .trees import Tree, in_copies

AREAS: Final = ("scheduler/model/", "scheduler/engine/", "middleware/grants/", "items/")
"""The folders that the mutants of Python are drawn from."""
FOLDERS: Final = (
    "model",
    "scheduler",
    "defects",
    "schedules",
    "faults",
    "stress",
    "items",
    "middleware",
    "slots",
    "acceptance",
    "actors",
)
"""The folders of tests that are asked; those of whole programs, databases and clusters would take hours."""
CHOSEN: Final = (
    *("-m", "not nightly and not cluster", "-k", "not postgresql"),
    *("-o", "markers=slow\nnightly\ncluster"),  # a tree of before they were known has no such cases
)
"""Of each file: all but what runs at night, on a cluster or on PostgreSQL."""
_TOGETHER: Final = 8
"""So many test files in one process: each has to begin anew."""
_HUNG_SECONDS: Final = 1800.0


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a test that passes on the tree as it is."""

    name: str
    seconds: float
    lines: dict[str, frozenset[int]]

    @property
    def file(self) -> str:
        return self.name.partition("::")[0]

    @property
    def function(self) -> str:
        return self.name.partition("[")[0]


def test_files(tree: Path) -> list[str]:
    """The test files of a tree that are asked, by folder."""
    return [str(f.relative_to(tree)) for each in FOLDERS for f in sorted((tree / "tests" / each).glob("test_*.py"))]


def collect(tree: Path, kept: Path, jobs: int) -> Iterator[str]:
    """Run the test files that are not in ``kept`` yet, and append what they cover.

    Args:
        tree: The working tree.
        kept: The file to append to.
        jobs: So many at once.

    Yields:
        A line about some files.
    """
    kept.parent.mkdir(parents=True, exist_ok=True)
    done = {file for each in _read(kept) for file in each["files"]}
    left = [each for each in test_files(tree) if each not in done]
    groups = [left[i : i + _TOGETHER] for i in range(0, len(left), _TOGETHER)]
    for found in in_copies(tree, jobs, groups, _covered):
        with kept.open("a") as out:
            out.write(json.dumps(found) + "\n")
        yield f"{', '.join(found['files'])}: {len(found['cases'])} cases, exit code {found['code']}"


def _covered(copy: Tree, files: list[str]) -> dict[str, Any]:
    notes = copy.folder / "notes.json"
    notes.unlink(missing_ok=True)
    where = {"MUTANTS_TREE": str(copy.root), "MUTANTS_AREAS": ":".join(AREAS), "MUTANTS_NOTES": str(notes)}
    code, said = copy.pytest(("-p", "mutants_tracing", *CHOSEN, *files), within_seconds=_HUNG_SECONDS, **where)
    cases: dict[str, Any] = json.loads(notes.read_text()) if notes.exists() else {}
    return {"files": files, "code": code, "said": said.strip()[-500:], "cases": cases}


def cases_of(kept: Path) -> list[Case]:
    """The cases that passed, as ``collect`` kept them."""
    return [
        Case(name, case["seconds"], {path: frozenset(lines) for path, lines in case["lines"].items()})
        for each in _read(kept)
        for name, case in each["cases"].items()
        if case["passed"] and "lines" in case
    ]


def _read(kept: Path) -> Iterator[dict[str, Any]]:
    if kept.exists():
        with kept.open() as lines:
            yield from map(json.loads, lines)

"""What became of mutants: lines of JSON, appended as they run, and two such files compared."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path


class Outcome(StrEnum):
    """The end of one mutant."""

    KILLED = "killed"
    HUNG = "timeout"
    """A test did not end, which counts as killed."""
    SURVIVED = "survived"
    UNCOVERED = "uncovered"
    """No case executes what it changes, so it survived."""

    @property
    def is_alive(self) -> bool:
        return self in (Outcome.SURVIVED, Outcome.UNCOVERED)


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one mutant."""

    name: str
    outcome: Outcome
    by: str = ""
    """The case that killed it."""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs."""

    lost: list[str]
    """Survive now and were killed before."""
    gone: list[str]
    """Were killed before and did not run now: what they change stands elsewhere, and they are to be aimed anew."""


def read(path: Path) -> dict[str, Result]:
    """The results of a file, by name; the later one of two."""
    if not path.exists():
        return {}
    found = (
        Result(each["name"], Outcome(each["outcome"]), each.get("by", ""), each.get("seconds", 0.0))
        for each in map(json.loads, path.read_text().splitlines())
    )
    return {each.name: each for each in found}


def append(path: Path, result: Result) -> None:
    """Keep a result."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as out:
        out.write(json.dumps(asdict(result), ensure_ascii=False) + "\n")


def compare(before: dict[str, Result], after: dict[str, Result]) -> Comparison:
    """What became of those of an earlier run."""
    killed = [name for name, result in sorted(before.items()) if not result.outcome.is_alive]
    return Comparison(
        lost=[name for name in killed if name in after and after[name].outcome.is_alive],
        gone=[name for name in killed if name not in after],
    )


def counted(results: Iterable[Result]) -> dict[str, int]:
    """How many had each outcome."""
    return dict(Counter(str(each.outcome) for each in results))

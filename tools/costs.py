"""``python -m tools.costs``: what the tests and the phases of a check cost, as tables.

``python -m tools.costs run PHASE -- COMMAND …`` runs a command and notes the seconds that it took, on the clock and of
processors. Tests note theirs by file (`tests/costs.py`) where TEST_COSTS_FOLDER names a folder. Without ``run``, the
program prints both. It needs nothing but the standard library, since the first phase installs everything else.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path("build/costs")
PHASES: Final = "phases.jsonl"


@dataclass(frozen=True, slots=True)
class Cost:
    """Of a phase, a folder of tests, or a file of them."""

    name: str
    wall_seconds: float
    cpu_seconds: float
    cases: int = 0


def note_phase(folder: Path, name: str, command: Sequence[str]) -> int:
    """Run a command and note what it cost.

    Args:
        folder: Where costs are noted.
        name: Of the phase.
        command: The program with its arguments.

    Returns:
        The command's exit code; 128 and the signal's number, if a signal ended it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    began = time.monotonic()
    used_before = _cpu_seconds_of_children()
    code = subprocess.call(command, env=os.environ | {"TEST_COSTS_FOLDER": str(folder.absolute())})
    cost = Cost(name, round(time.monotonic() - began, 1), round(_cpu_seconds_of_children() - used_before, 1))
    with (folder / PHASES).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(asdict(cost)) + "\n")
    return code if code >= 0 else 128 - code


def phases(folder: Path) -> list[Cost]:
    """The phases in the order in which they ended."""
    return [Cost(**line) for line in _lines([folder / PHASES])]


def files(folder: Path) -> list[Cost]:
    """The files of tests; one that several phases ran counts as their sum."""
    return _sums(
        Cost(line["file"], line["wall_seconds"], line["cpu_seconds"], line["cases"])
        for line in _lines(sorted(folder.glob("tests-*.jsonl")))
    )


def folders(costs: Iterable[Cost]) -> list[Cost]:
    """The same files, summed up by folder."""
    return _sums(Cost(str(Path(one.name).parent), one.wall_seconds, one.cpu_seconds, one.cases) for one in costs)


def table(title: str, costs: Sequence[Cost]) -> str:
    """Rows in Markdown, the sum last."""
    total = _sums(Cost("all", one.wall_seconds, one.cpu_seconds, one.cases) for one in costs)
    head = f"| {title} | cases | wall s | CPU s |\n|---|---:|---:|---:|"
    rows = (
        f"| {one.name} | {one.cases or ''} | {one.wall_seconds:,.0f} | {one.cpu_seconds:,.0f} |"
        for one in (*costs, *total)
    )
    return "\n".join((head, *rows))


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.costs", description=str(__doc__).partition("\n\n")[2])
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where costs are noted (build/costs)")
    parser.add_argument("--files", type=int, default=15, metavar="N", help="list the N dearest files, too (15)")
    parser.add_argument("--json", action="store_true", help="print all of it for programs")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers()
    run = commands.add_parser("run", help="run a command as a phase: run PHASE -- COMMAND …")
    run.add_argument("phase")
    run.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args(arguments)
    if given.command is not None:
        command = given.command[1:] if given.command[:1] == ["--"] else given.command
        if not command:
            run.error("no command was given: run PHASE -- COMMAND …")
        return note_phase(given.folder, given.phase, command)
    of_phases, of_files = phases(given.folder), files(given.folder)
    if not of_phases and not of_files:
        print(f"no costs are noted in {given.folder}: run `make test` or `make check` first", file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps({"phases": [asdict(one) for one in of_phases], "files": [asdict(one) for one in of_files]}))
        return 0
    of_files.sort(key=lambda one: -one.wall_seconds)
    of_folders = sorted(folders(of_files), key=lambda one: -one.wall_seconds)
    named = (("phase", of_phases), ("tests", of_folders), ("dearest files", of_files[: given.files]))
    print("\n\n".join(table(title, costs) for title, costs in named if costs))
    return 0


def _cpu_seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _lines(paths: Iterable[Path]) -> list[dict[str, Any]]:
    texts = (path.read_text(encoding="utf-8") for path in paths if path.exists())
    return [json.loads(line) for text in texts for line in text.splitlines()]


def _sums(costs: Iterable[Cost]) -> list[Cost]:
    sums: dict[str, Cost] = {}
    for one in costs:
        known = sums.get(one.name, Cost(one.name, 0.0, 0.0))
        sums[one.name] = Cost(
            one.name,
            known.wall_seconds + one.wall_seconds,
            known.cpu_seconds + one.cpu_seconds,
            known.cases + one.cases,
        )
    return list(sums.values())


if __name__ == "__main__":
    sys.exit(main())

"""``python -m tools.steadiness``: runs what depends on time again and again, and keeps a table of how it ended.

A test fails for nothing where its outcome depends on time, on processes or on threads. The program finds the files of
which that may be so (by their imports and calls), runs each of them many times beside a load, and appends each run to a
table at once. It may be stopped and started again: it counts the runs of a file as the file stands now.
``--make TARGET`` runs a target of the Makefile instead.
"""

import argparse
import ast
import hashlib
import json
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
TABLE: Final = Path("build/steadiness.jsonl")
MODULES: Final = frozenset({"subprocess", "threading"})
CALLS: Final = frozenset({"sleep", "wait_until"})
NOTHING_TO_RUN: Final = 5
"""Pytest's exit code if the markers leave nothing of a file."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a file of tests, or of a target of the Makefile."""

    subject: str
    state: str
    load: int
    passed: bool
    seconds: float
    failures: list[str]


def depends_on_time(source: str) -> bool:
    """Whether a file of tests imports subprocess or threading, sleeps, or waits until something."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names) if any(name.name in MODULES for name in names):
                return True
            case ast.ImportFrom(module=module) if module in MODULES:
                return True
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if name in CALLS:
                return True
            case _:
                continue
    return False


def subjects(root: Path, named: Sequence[str]) -> list[str]:
    """The files of tests that depend on time, all or those below the paths that are named."""
    below = [root / path for path in named] or [root / "tests"]
    found = (path for start in below for path in ([start] if start.is_file() else sorted(start.rglob("test_*.py"))))
    return [str(path.relative_to(root)) for path in found if depends_on_time(path.read_text(encoding="utf-8"))]


def state_of(root: Path, subject: str) -> str:
    """A file's content in short; of a target of the Makefile the commit."""
    path = root / subject
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    return subprocess.check_output(["git", "rev-parse", "--short=12", "HEAD"], cwd=root, text=True).strip()


def command_of(subject: str, markers: str, is_target: bool) -> list[str]:
    """What runs a subject."""
    if is_target:
        return ["make", subject]
    return [sys.executable, "-m", "pytest", "-q", "-m", markers, "-p", "no:cacheprovider", subject]


@contextmanager
def busy(cores: int) -> Generator[None]:
    """Keep so many cores busy meanwhile, by stress-ng."""
    if not cores:
        yield
        return
    load = subprocess.Popen(["stress-ng", "--quiet", "--cpu", str(cores)])
    try:
        yield
    finally:
        load.terminate()
        load.wait()


def run(subject: str, command: Sequence[str], load: int) -> Run | None:
    """Run a subject once; None if the markers leave nothing of it."""
    state = state_of(ROOT, subject)
    began = time.monotonic()
    ended = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if ended.returncode == NOTHING_TO_RUN:
        return None
    failures = [line[:300] for line in ended.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    if ended.returncode and not failures:
        failures = ended.stdout.splitlines()[-3:]
    return Run(subject, state, load, not ended.returncode, round(time.monotonic() - began, 1), failures)


def report(runs: Sequence[Run]) -> str:
    """A row a subject in Markdown: its runs, failures and what failed."""
    by_subject: defaultdict[tuple[str, int], list[Run]] = defaultdict(list)
    for one in runs:
        by_subject[one.subject, one.load].append(one)
    rows = ["| what | beside | runs | failed | what failed |", "|---|---:|---:|---:|---|"]
    for (subject, load), of_it in sorted(by_subject.items()):
        failures = Counter(failure for one in of_it for failure in one.failures)
        said = "; ".join(f"{failure} ({times})" for failure, times in failures.items()).replace("|", "\\|")
        rows.append(f"| {subject} | {load} | {len(of_it)} | {sum(not one.passed for one in of_it)} | {said} |")
    rows.append(f"| all | | {len(runs)} | {sum(not one.passed for one in runs)} | |")
    return "\n".join(rows)


def read(table: Path) -> list[Run]:
    """The runs that a table has."""
    if not table.exists():
        return []
    lines: list[dict[str, Any]] = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    return [Run(**line) for line in lines]


def run_all(chosen: Sequence[str], given: argparse.Namespace) -> None:
    """Run each subject until the table has so many runs of it, one after the other, and append each run."""
    given.table.parent.mkdir(parents=True, exist_ok=True)
    known = Counter((one.subject, one.state, one.load) for one in read(given.table))
    for turn in range(1, given.times + 1):
        for subject in chosen:
            if known[subject, state_of(ROOT, subject), given.load] >= turn:
                continue
            ended = run(subject, command_of(subject, given.markers, bool(given.make)), given.load)
            if ended is None:
                continue
            with given.table.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(asdict(ended)) + "\n")
            said = "passed" if ended.passed else "FAILED"
            print(f"{turn}/{given.times} {said} {ended.seconds} s {subject}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command line; its exit code is 1 if a run of what stands now failed."""
    parser = argparse.ArgumentParser(prog="python -m tools.steadiness", description=str(__doc__).partition("\n\n")[2])
    parser.add_argument("paths", nargs="*", help="files or folders of tests (all)")
    parser.add_argument("--make", action="append", default=[], metavar="TARGET", help="run this target instead")
    parser.add_argument("--times", type=int, default=20, help="runs of each, those in the table included (20)")
    parser.add_argument("--load", type=int, default=0, metavar="CORES", help="beside `stress-ng --cpu CORES` (none)")
    parser.add_argument("--markers", default="not nightly and not cluster", help="as pytest's -m (%(default)s)")
    parser.add_argument("--table", type=Path, default=TABLE, help="where runs are appended (%(default)s)")
    parser.add_argument("--list", action="store_true", help="list what would be run, and end")
    parser.add_argument("--report", action="store_true", help="print the table as Markdown, and end")
    parser.add_argument("--json", action="store_true", help="with --report or --list: for programs")
    given = parser.parse_args(arguments)
    chosen: list[str] = given.make or subjects(ROOT, given.paths)
    if given.list:
        print(json.dumps(chosen) if given.json else "\n".join(chosen))
        return 0
    if given.report:
        runs = read(given.table)
        print(json.dumps([asdict(one) for one in runs]) if given.json else report(runs))
        return 0
    with busy(given.load):
        run_all(chosen, given)
    stands = {(subject, state_of(ROOT, subject)) for subject in chosen}
    return int(any(not one.passed for one in read(given.table) if (one.subject, one.state) in stands))


if __name__ == "__main__":
    sys.exit(main())

"""The command line of the mutants."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from . import covering, lua, python, results
from .running import Change, run
from .trees import ROOT

KEPT: Final = Path("build/mutants")


def main() -> int:
    """Run one command.

    Returns:
        0; 1 if `compare` finds one that survives and was killed before. Wrong usage ends with 2.
    """
    asked = _parser().parse_args()
    commands = {"list": _list, "cover": _cover, "run": _run, "compare": _compare, "summary": _summary}
    try:
        return commands[asked.command](asked)
    except KeyboardInterrupt:
        print("mutants: interrupted; the same command goes on where it was", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tools.mutants", description="Plants faults in the code, and looks whether a test finds each."
    )
    commands = parser.add_subparsers(dest="command", required=True)
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print for programs")
    of_tree = argparse.ArgumentParser(add_help=False, parents=[shared])
    of_tree.add_argument("--tree", type=Path, default=ROOT, help="the working tree; it stays as it is (this one)")
    working = argparse.ArgumentParser(add_help=False)
    working.add_argument("--jobs", type=int, default=2, help="so many at once (2)")
    drawing = argparse.ArgumentParser(add_help=False)
    drawing.add_argument("--only", choices=("lua", "python"), help="mutants of one language")
    drawing.add_argument("--seed", type=int, default=1, help="which mutants of Python are drawn (1)")
    drawing.add_argument(
        "--count", type=int, default=200, help="how many of Python (200); the rules of Lua are all run"
    )
    drawing.add_argument("--killed-in", type=Path, metavar="RESULTS", help="only those that were killed there")

    commands.add_parser("list", parents=[of_tree, drawing], help="print the mutants' names, and do nothing")
    commands.add_parser(
        "cover", parents=[of_tree, working], help="note which cases execute which lines, once for a tree"
    )
    running = commands.add_parser(
        "run", parents=[of_tree, working, drawing], help="run them; those with a result are left out"
    )
    running.add_argument("--results", type=Path, help=f"the file to append to (TREE/{KEPT}/results.jsonl)")
    running.add_argument("--budget", type=float, default=30.0, help="seconds of cases for each mutant (30)")
    running.add_argument(
        "--first", type=Path, metavar="RESULTS", help="try what killed a mutant there before the others"
    )
    comparing = commands.add_parser(
        "compare", parents=[shared], help="list those that survive now and were killed before"
    )
    comparing.add_argument("before", type=Path, metavar="BEFORE")
    comparing.add_argument("after", type=Path, metavar="AFTER")
    summary = commands.add_parser("summary", help="print names and outcomes alone, sorted")
    summary.add_argument("results", type=Path, metavar="RESULTS")
    return parser


def _mutants(asked: argparse.Namespace) -> list[Change]:
    rules = lua.rules() if asked.only != "python" else []
    edits = python.drawn(asked.tree, seed=asked.seed, count=asked.count) if asked.only != "lua" else []
    if not asked.killed_in:
        return [*rules, *edits]
    # By name, since a changed tree may draw others.
    known: dict[str, Change] = {each.name: each for each in (*rules, *python.all_of(asked.tree))}
    killed = [each.name for each in results.read(asked.killed_in).values() if not each.outcome.is_alive]
    return [known[name] for name in killed if name in known]


def _list(asked: argparse.Namespace) -> int:
    names = [each.name for each in _mutants(asked)]
    print(json.dumps(names, ensure_ascii=False) if asked.json else "\n".join(names))
    return 0


def _cover(asked: argparse.Namespace) -> int:
    for said in covering.collect(asked.tree, asked.tree / KEPT / "covered.jsonl", asked.jobs):
        print(json.dumps(said) if asked.json else said, flush=True)
    return 0


def _run(asked: argparse.Namespace) -> int:
    kept = asked.results or asked.tree / KEPT / "results.jsonl"
    done = results.read(kept)
    killers = {each.name: each.by for each in results.read(asked.first).values()} if asked.first else {}
    left = [each for each in _mutants(asked) if each.name not in done]
    cases = covering.cases_of(asked.tree / KEPT / "covered.jsonl")
    for result in run(asked.tree, left, cases, killers, budget_seconds=asked.budget, jobs=asked.jobs):
        results.append(kept, result)
        done[result.name] = result
        if not asked.json:
            print(f"{result.outcome:9} {result.seconds:6.1f} s  {result.name}  {result.by}", flush=True)
    counts = results.counted(done.values())
    print(json.dumps(counts) if asked.json else ", ".join(f"{count} {name}" for name, count in counts.items()))
    return 0


def _compare(asked: argparse.Namespace) -> int:
    found = results.compare(results.read(asked.before), results.read(asked.after))
    if asked.json:
        print(json.dumps({"lost": found.lost, "gone": found.gone}, ensure_ascii=False))
        return 1 if found.lost else 0
    for title, names in (
        ("survive now, and were killed before", found.lost),
        ("did not run now, and were killed before: aim them anew", found.gone),
    ):
        _print_names(f"{len(names)} {title}", names)
    return 1 if found.lost else 0


def _print_names(title: str, names: Sequence[str]) -> None:
    print(title, *(f"  {name}" for name in names), sep="\n")


def _summary(asked: argparse.Namespace) -> int:
    for name, result in sorted(results.read(asked.results).items()):
        print(json.dumps({"name": name, "outcome": result.outcome}, ensure_ascii=False))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Runs ``python -m benchmarks``: measures the questions, prints the table, writes the JSON and draws the chart.

``--only send --only drain`` runs only those two; ``--quick`` runs all in under a minute, with figures that say little;
``--json`` prints the JSON instead of the table; ``--markdown FILE`` writes the table that the README shows. Run it from
the repository's root, with nothing else running on the machine. Questions about pods run only if they are named, on the
cluster of KUBECONFIG.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import NoReturn

from .chart import draw
from .cluster.place import ClusterMissing, named_cluster
from .machine import this_machine
from .markdown import to_markdown
from .questions import CLUSTER_QUESTIONS, QUESTIONS, named
from .results import to_json, write
from .rig import ROOT, Rig, Size
from .runner import run_all
from .server import ServerNotUsable, described, serving
from .table import show

RUNS = 3


def main() -> int:
    """Run the questions and show the results; returns 2 if server or cluster cannot be used, or a name is unknown."""
    options = _parser().parse_args()
    # SIGTERM ends its workers and its server, as an error does.
    signal.signal(signal.SIGTERM, _end)
    size = Size.QUICK if options.quick else Size[options.size.upper()]
    try:
        questions = named(options.only)
        if any(question.needs_cluster for question in questions):
            named_cluster()
        # Not below the repository's root, since the path of a socket must be short.
        with tempfile.TemporaryDirectory(prefix="bm-bench-") as name, serving(Path(name), tcp=options.tcp) as url:
            machine = this_machine(described(url))
            runs = options.runs or (RUNS if size >= Size.FULL else 1)
            answers = run_all(Rig(url, Path(name), size), questions, runs)
    except (ServerNotUsable, ClusterMissing, ValueError) as error:
        sys.stderr.write(f"benchmarks: {error}\n")
        return 2
    text = to_json(machine, size.name.lower(), answers)
    write(options.output, text)
    if options.chart is not None:
        write(options.chart, draw(machine, answers))
    if options.markdown is not None:
        write(options.markdown, to_markdown(machine, size.name.lower(), answers))
    if options.json:
        sys.stdout.write(text + "\n")
    else:
        show(machine, size.name.lower(), answers)
    return 0


def _end(number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(128 + number)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="What Bandmaster costs, beside bare Dramatiq."
    )
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="NAME",
        help=f"ask this question; again for more ({', '.join(question.name for question in QUESTIONS)}; "
        f"on the cluster that KUBECONFIG names: {', '.join(question.name for question in CLUSTER_QUESTIONS)})",
    )
    sizes = [size.name.lower() for size in Size]
    parser.add_argument("--size", choices=sizes, default=Size.FULL.name.lower(), help="how much is measured")
    parser.add_argument("--quick", action="store_true", help="the same as --size quick")
    parser.add_argument("--runs", type=int, help=f"of each side; {RUNS} unless the size is less than full, then 1")
    parser.add_argument("--tcp", action="store_true", help="the server on a port of the loopback, not on a socket")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    parser.add_argument("--output", type=Path, default=ROOT / "build/bench/results.json", help="where the JSON goes")
    parser.add_argument("--markdown", type=Path, help="where the table as Markdown goes; none is written without it")
    parser.add_argument("--chart", type=Path, help="where the chart goes; none is drawn without it")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())

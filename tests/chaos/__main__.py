"""``python -m chaos --seconds 600 --seed 1``: rough weather on this machine, then everything that must hold.

`make chaos` runs it, in a network namespace of its own where packets can be lost. Exit code: 0 if nothing was violated,
1 if something was; 2 if it was called wrongly. Of a run that found something logs and notes stay, of others nothing.
"""

import argparse
import json
import sys

from chaos import own_network
from chaos.found import Kind
from chaos.run import run_chaos


def main() -> int:
    """Run it, and say what came of it."""
    parser = argparse.ArgumentParser(prog="chaos", description="Rough weather on this machine.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults are made at least")
    parser.add_argument("--faults", type=int, default=0, help="how many are made at least, however long that takes")
    parser.add_argument("--seed", type=int, default=1, help="of work, faults and changes")
    parser.add_argument("--json", action="store_true", help="the report as JSON, on standard output alone")
    parser.add_argument(
        "--plant",
        action="append",
        choices=[kind.name.lower() for kind in Kind],
        default=[],
        help="something that must not be: the run has to find it",
    )
    parser.add_argument(
        "--rule",
        action="append",
        choices=[kind.name.lower() for kind in Kind],
        default=[],
        help="faults are made until something has come to this rule, too",
    )
    asked = parser.parse_args()
    if own_network.why_not() is None:
        code = own_network.run_inside(["-m", "chaos", *sys.argv[1:]])
        if code is not None:
            return code
    report = run_chaos(
        seed=asked.seed,
        seconds=asked.seconds,
        least_faults=asked.faults,
        rules=[Kind[name.upper()] for name in asked.rule],
        planted=[Kind[name.upper()] for name in asked.plant],
        say=lambda line: print(line, flush=True, file=sys.stderr),
    )
    print(json.dumps(report.as_json(), indent=2) if asked.json else "\n".join(report.lines()))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())

"""``python -m chaos_cluster --seconds 600 --seed 1``: rough weather on a real cluster, then everything that must hold.

Workers are killed, the API server is restarted, pods are deleted, evicted and forced, executions are cancelled, and
Redis comes back with older data. KUBECONFIG names the cluster, BANDMASTER_TEST_CLUSTER_STATE the folder with the ids of
its processes, which have to be on this machine. `make chaos-cluster` runs it. Exit code: 0 if nothing was violated, 1
if something was, 2 if it could not begin.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path
from typing import Final

from chaos_planted import PLANTED
from chaos_run import run_chaos
from components import Components
from sharing import cluster_of_ones_own

KUBECONFIG: Final = "KUBECONFIG"
STATE: Final = "BANDMASTER_TEST_CLUSTER_STATE"


def main() -> int:
    """Run it, and say what came of it."""
    parser = argparse.ArgumentParser(prog="chaos_cluster", description="Rough weather on a real cluster.")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long faults are made")
    parser.add_argument("--seed", type=int, default=1, help="of work and faults")
    parser.add_argument(
        "--plant",
        action="append",
        choices=PLANTED,
        default=[],
        help="something that must not be: the run has to find it",
    )
    asked = parser.parse_args()
    missing = [name for name in (KUBECONFIG, STATE) if not os.environ.get(name)]
    if missing:
        print(f"{' and '.join(missing)} must say where a cluster is that runs on this machine", file=sys.stderr)
        return 2
    warnings.filterwarnings("ignore", message="Unverified HTTPS request")  # a test cluster's certificate is its own
    with cluster_of_ones_own(alone=True):
        report = run_chaos(
            os.environ[KUBECONFIG],
            lambda admin: Components(Path(os.environ[STATE]), admin),
            seed=asked.seed,
            seconds=asked.seconds,
            planted=asked.plant,
            say=lambda line: print(line, flush=True),
        )
    print("\n".join(report.lines()))
    return 1 if report.violations else 0


if __name__ == "__main__":
    sys.exit(main())

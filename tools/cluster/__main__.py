"""The command line: bring the cluster for the tests up, take it down, say where it is.

``up`` may be repeated: a cluster that answers is left as it is, and what died half-way is built on. The last line of
its standard output is the path of the kubeconfig; what it is doing goes to standard error. ``prepare`` makes all that
takes long (minutes, the first time) and starts nothing, with the least priority: other work may go on beside it, and
``up`` takes seconds afterwards.
"""

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path

from . import debian, hosted
from .processes import ClusterError

NAME = "bandmaster-test"
AUTO, DEBIAN = "auto", "debian"
LEAST_PRIORITY = 19


def main() -> int:
    """Run one command.

    Returns:
        0; 1 if the cluster does not come up or is not there. Wrong usage ends with 2.
    """
    parser = argparse.ArgumentParser(
        prog="python3 -m tools.cluster",
        description="A Kubernetes cluster for the tests: by kind, k3d or minikube, else of Debian's packages.",
    )
    parser.add_argument(
        "command",
        choices=("prepare", "up", "down", "status", "kubeconfig"),
        help="make what `up` needs, beside other work; start it and print its kubeconfig's path; end it; "
        "show its nodes and pods; print that path",
    )
    parser.add_argument(
        "--provider",
        choices=(AUTO, *hosted.PROVIDERS, DEBIAN),
        default=AUTO,
        help=f"who runs it; {AUTO} takes the first that is installed, else {DEBIAN}, which needs root",
    )
    parser.add_argument(
        "--control-plane",
        action="store_true",
        help=f"with {DEBIAN}: etcd and the API server alone, on which no pod ever runs",
    )
    asked = parser.parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what it runs ends with it
    provider = asked.provider
    if provider == AUTO:
        provider = DEBIAN if asked.control_plane else hosted.installed() or DEBIAN
    try:
        return _run(asked.command, provider, control_plane=asked.control_plane)
    except (ClusterError, subprocess.CalledProcessError) as failure:
        print(f"cluster: {failure}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "cluster: interrupted; `down` removes what has been started, and what is made already stays",
            file=sys.stderr,
        )
        return 130


def _run(command: str, provider: str, *, control_plane: bool) -> int:
    node = debian.Node(control_plane=control_plane)
    folder = node.folder if provider == DEBIAN else Path.home() / ".cache" / "bandmaster-cluster" / provider
    kubeconfig = folder / "kubeconfig"
    if command == "prepare":
        os.nice(LEAST_PRIORITY)
        node.prepare() if provider == DEBIAN else hosted.prepare(provider, kubeconfig)
    elif command == "up":
        node.up() if provider == DEBIAN else hosted.up(provider, NAME, kubeconfig)
        print(kubeconfig)
    elif command == "down":
        node.down() if provider == DEBIAN else hosted.down(provider, NAME, kubeconfig)
    elif command == "kubeconfig":
        print(kubeconfig)
    else:
        shown = ("kubectl", f"--kubeconfig={kubeconfig}", "get", "nodes,pods", "--all-namespaces", "--output=wide")
        return min(subprocess.run(shown, check=False).returncode, 1)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Namespaces of a test's own: made with a name that nobody else has, and gone when it ends, whatever holds their pods.

In the flow: the deployment tests install into them. Execution pods bear a finalizer that only a worker takes off;
when a test ends there is no worker left to do so, and the namespace would never end.
"""

import contextlib
import json
import secrets
from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

from deploy_chart import RELEASE
from deploy_kubectl import Kubectl, Manifest

GONE_SECONDS: Final = 180
NO_FINALIZERS: Final = json.dumps({"metadata": {"finalizers": None}})


@dataclass(frozen=True, slots=True)
class Namespaces:
    """Where a release lives, and where its executions do."""

    release: str
    executions: str


@contextlib.contextmanager
def own_namespaces(kubectl: Kubectl, *, of_executions: bool = True) -> Generator[Namespaces]:
    """A pair of namespaces.

    Args:
        kubectl: The cluster.
        of_executions: Make that of the executions too; else whoever is tested does.
    """
    name = f"bm-deploy-{secrets.token_hex(3)}"
    namespaces = Namespaces(name, f"{name}-executions")
    try:
        made = (name, namespaces.executions) if of_executions else (name,)
        kubectl.apply(_namespace(each, release=name) for each in made)
        yield namespaces
    finally:
        _delete(kubectl, namespaces)


def _namespace(name: str, *, release: str) -> Manifest:
    # As a release of the chart would have made it, which therefore takes it for its own.
    marks = {"meta.helm.sh/release-name": RELEASE, "meta.helm.sh/release-namespace": release}
    labels = {"app.kubernetes.io/managed-by": "Helm"}
    return {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": name, "labels": labels, "annotations": marks},
    }


def _delete(kubectl: Kubectl, namespaces: Namespaces) -> None:
    # The workers first, so that nobody makes another pod.
    limit = ("--ignore-not-found", f"--timeout={GONE_SECONDS}s")
    kubectl.run("delete", "namespace", namespaces.release, *limit, seconds=GONE_SECONDS + 30)
    for pod in kubectl.items("pods", "-n", namespaces.executions):
        if pod["metadata"].get("finalizers"):
            name = pod["metadata"]["name"]
            kubectl.attempt("patch", "pod", name, "-n", namespaces.executions, "--type=merge", "-p", NO_FINALIZERS)
    kubectl.run("delete", "namespace", namespaces.executions, "--ignore-not-found", "--wait=false")

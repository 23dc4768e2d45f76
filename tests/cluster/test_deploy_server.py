"""The manifests before the real API server: it takes every object, and keeps every field of it.

By server-side dry run, which runs defaults, validation and admission, and stores nothing.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from deploy_chart import (
    EXECUTIONS_NAMESPACE,
    KUSTOMIZE,
    NAMESPACE,
    Values,
    kustomized,
    moved,
    of_kind,
    overlay,
    rendered_for,
)
from deploy_kubectl import Kubectl, Manifest, cluster_or_skip, undisturbed
from deploy_namespaces import Namespaces, own_namespaces

pytestmark = pytest.mark.cluster

EVERYTHING: Values = {
    "image": {"pullSecrets": ["registry"]},
    "executions": {"egress": [{"to": [{"ipBlock": {"cidr": "203.0.113.0/24"}}]}]},
    "worker": {
        "autoscaling": {"enabled": True},
        "podAnnotations": {"example.org/team": "queue"},
        "podLabels": {"team": "queue"},
        "nodeSelector": {"kubernetes.io/os": "linux"},
        "tolerations": [{"key": "queue", "operator": "Exists"}],
        "priorityClassName": "system-cluster-critical",
    },
    "ledger": {"enabled": True, "existingSecret": "my-ledger"},
    "api": {"enabled": True, "tokensSecret": "my-tokens", "tlsSecret": "my-tls"},
    "redis": {"trial": {"persistence": {"storageClassName": "fast"}}},
}
OWN_SERVER: Values = {
    "redis": {"existingSecret": "my-redis", "trial": {"enabled": False}},
    "networkPolicy": {"redis": {"peers": [{"ipBlock": {"cidr": "203.0.113.7/32"}}], "port": 6380}},
    "serviceAccount": {"create": False, "name": "my-account"},
}


@pytest.fixture(scope="module")
def kubectl() -> Kubectl:
    return cluster_or_skip()


@pytest.fixture(scope="module")
def namespaces(kubectl: Kubectl) -> Iterator[Namespaces]:
    with undisturbed(kubectl), own_namespaces(kubectl) as namespaces:
        yield namespaces


@pytest.mark.parametrize("values", [{}, EVERYTHING, OWN_SERVER], ids=["defaults", "everything", "own server"])
def test_the_api_server_takes_the_chart_whole(kubectl: Kubectl, namespaces: Namespaces, values: Values) -> None:
    manifests = rendered_for(kubectl.kubeconfig, values, namespace=namespaces.release)
    for manifest in manifests:
        # As Helm does: what names no namespace belongs to the release's.
        if manifest["kind"] != "Namespace":
            manifest["metadata"].setdefault("namespace", namespaces.release)
    assert_taken_whole(kubectl, manifests)


def test_the_api_server_takes_the_kustomization_whole(kubectl: Kubectl, namespaces: Namespaces, tmp_path: Path) -> None:
    served = kubectl.api_versions()
    # Kubernetes 1.20 has no such API: there, that component is not for it.
    budgets = ["disruption-budgets"] if "policy/v1" in served else []
    components = ["autoscaling", "ledger", "api", "api-tokens", *budgets]
    for folder in (KUSTOMIZE / "base", KUSTOMIZE / "trial", overlay(tmp_path, *components)):
        own = {NAMESPACE: namespaces.release, EXECUTIONS_NAMESPACE: namespaces.executions}
        assert_taken_whole(kubectl, moved(kustomized(folder), own))


def test_the_chart_asks_for_no_api_that_the_cluster_has_not(kubectl: Kubectl, namespaces: Namespaces) -> None:
    manifests = rendered_for(kubectl.kubeconfig, EVERYTHING, namespace=namespaces.release)
    assert {each["apiVersion"] for each in manifests} <= kubectl.api_versions()
    assert len(of_kind(manifests, "PodDisruptionBudget")) == 4
    assert len(of_kind(manifests, "HorizontalPodAutoscaler")) == 1


def assert_taken_whole(kubectl: Kubectl, manifests: list[Manifest]) -> None:
    # As kubectl does by default, and as Helm does.
    for way in (["--dry-run=server"], ["--dry-run=server", "--server-side"]):
        taken = kubectl.apply(manifests, *way)
        assert len(taken) == len(manifests)
        for sent, stored in zip(manifests, taken, strict=True):
            assert list(_dropped(sent, stored, f"{sent['kind']} {sent['metadata']['name']}")) == []


def _dropped(sent: Any, stored: Any, where: str) -> Iterator[str]:
    """Where the stored object differs in what was sent; what the server added does not count."""
    if isinstance(sent, dict):
        if not isinstance(stored, dict):
            yield where
            return
        entries = cast("dict[str, Any]", stored)
        for name, value in cast("dict[str, Any]", sent).items():
            if name == "stringData":
                continue  # written to `data`, encoded
            if name in entries:
                yield from _dropped(value, entries[name], f"{where}.{name}")
            elif value not in ({}, [], ""):
                yield f"{where}.{name}"
    elif isinstance(sent, list):
        items, kept = cast("list[Any]", sent), cast("list[Any]", stored)
        if not isinstance(stored, list) or len(items) != len(kept):
            yield where
            return
        for index, (value, found) in enumerate(zip(items, kept, strict=True)):
            yield from _dropped(value, found, f"{where}[{index}]")
    elif sent != stored:
        yield f"{where}: {sent!r} became {stored!r}"

"""What the chart and the kustomizations make, before the schemas of Kubernetes and Pod Security; needs no cluster."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from deploy_chart import KUSTOMIZE, kustomized, overlaid, pods_of, rendered
from deploy_kubectl import Manifest
from kubernetes_rules import RELEASES, restricted_faults, schema_fault

pytestmark = pytest.mark.slow

EVERYTHING: dict[str, Any] = {
    "worker": {"autoscaling": {"enabled": True}},
    "executions": {"egress": [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}]},
    "networkPolicy": {
        "redis": {"peers": [{"ipBlock": {"cidr": "10.0.0.5/32"}}]},
        "database": {"peers": [{"ipBlock": {"cidr": "10.0.0.6/32"}}]},
    },
    "ledger": {"enabled": True, "existingSecret": "ledger"},
    "api": {"enabled": True, "tokensSecret": "tokens", "tlsSecret": "tls"},
    "metrics": {"enabled": True},
    "settings": {"k8s": {"profiles": {"gpu": {"tolerations": [{"key": "gpu", "operator": "Exists"}]}}}},
}
COMPONENTS = ("disruption-budgets", "autoscaling", "ledger", "api", "api-tokens", "metrics")
MAKERS: dict[str, Callable[[], list[Manifest]]] = {
    "helm": cache(rendered),
    "helm, everything on": cache(lambda: rendered(EVERYTHING)),
    "kustomize": cache(lambda: kustomized(KUSTOMIZE / "trial")),
    "kustomize, without the trial server": cache(lambda: kustomized(KUSTOMIZE / "base")),
    "kustomize, everything on": cache(lambda: overlaid(*COMPONENTS)),
}


#: In every check the oldest and the newest.
IN_TURN = [
    each if each in (RELEASES[0], RELEASES[-1]) else pytest.param(each, marks=pytest.mark.nightly) for each in RELEASES
]


@pytest.mark.parametrize("release", IN_TURN)
@pytest.mark.parametrize("maker", MAKERS)
def test_manifests_are_what_the_schemas_of_each_release_say(maker: str, release: str) -> None:
    assert [fault for each in MAKERS[maker]() if (fault := schema_fault(each, release))] == []


@pytest.mark.parametrize("maker", MAKERS)
def test_every_pod_of_the_manifests_obeys_the_restricted_standard(maker: str) -> None:
    pods = pods_of(MAKERS[maker]())
    assert {"worker", "scheduler"} <= pods.keys()
    assert [fault for pod in pods.values() for fault in restricted_faults(pod)] == []

"""The chart and the kustomizations as texts: what every pod may do, how it ends, and that both say the same.

No cluster is asked: Helm's engine and ``kubectl kustomize`` make the objects, and they are read.
"""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from deploy_chart import (
    EXECUTIONS_NAMESPACE,
    KUSTOMIZE,
    NAMESPACE,
    component_of,
    kustomized,
    of_kind,
    overlaid,
    pods_of,
    rendered,
)
from deploy_kubectl import Manifest

from bandmaster.configs.settings import sections
from bandmaster.configs.sources import from_environment

pytestmark = pytest.mark.cluster

MAKERS: dict[str, Callable[[], list[Manifest]]] = {
    "helm": rendered,
    "kustomize": lambda: kustomized(KUSTOMIZE / "trial"),
}
MAY = {
    "pods": {"create", "get", "list", "watch", "delete", "patch"},
    "pods/log": {"get"},
    "configmaps": {"create", "list", "delete"},
    "secrets": {"create"},
    "events": {"list"},
}


@pytest.fixture(params=MAKERS, scope="module")
def manifests(request: pytest.FixtureRequest) -> list[Manifest]:
    return MAKERS[request.param]()


def test_every_pod_obeys_the_restricted_profile_and_cannot_write_its_root(manifests: list[Manifest]) -> None:
    pods = pods_of(manifests)
    assert set(pods) == {"worker", "scheduler", "redis"}
    for pod in pods.values():
        assert not {"hostNetwork", "hostPID", "hostIPC", "hostAliases"} & set(pod)
        assert all({"emptyDir", "persistentVolumeClaim"} & set(volume) for volume in pod["volumes"])
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["securityContext"]["runAsUser"] > 0
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert pod["enableServiceLinks"] is False
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            assert container["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "runAsNonRoot": True,
                "capabilities": {"drop": ["ALL"]},
            }
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]
            assert all("hostPort" not in port for port in container.get("ports", ()))


def test_the_namespaces_of_untrusted_pods_enforce_the_restricted_profile(manifests: list[Manifest]) -> None:
    namespaces = {each["metadata"]["name"]: each["metadata"]["labels"] for each in of_kind(manifests, "Namespace")}
    labels = namespaces[EXECUTIONS_NAMESPACE]
    for mode in ("enforce", "audit", "warn"):
        assert labels[f"pod-security.kubernetes.io/{mode}"] == "restricted"


def test_a_worker_may_do_what_is_needed_in_the_namespace_of_executions_and_nothing_else(
    manifests: list[Manifest],
) -> None:
    (role,) = of_kind(manifests, "Role", "ClusterRole")
    (binding,) = of_kind(manifests, "RoleBinding", "ClusterRoleBinding")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", EXECUTIONS_NAMESPACE)
    assert {rule["resources"][0]: set(rule["verbs"]) for rule in role["rules"]} == MAY
    assert all(rule["apiGroups"] == [""] and len(rule["resources"]) == 1 for rule in role["rules"])
    assert (binding["kind"], binding["metadata"]["namespace"]) == ("RoleBinding", EXECUTIONS_NAMESPACE)
    pods = pods_of(manifests)
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": pods["worker"]["serviceAccountName"], "namespace": NAMESPACE}
    ]
    # Who needs no API gets no token.
    assert pods["worker"]["automountServiceAccountToken"] is True
    assert pods["scheduler"]["automountServiceAccountToken"] is False
    assert pods["redis"]["automountServiceAccountToken"] is False


def test_whoever_can_create_pods_cannot_reach_the_servers_password(manifests: list[Manifest]) -> None:
    (role,) = of_kind(manifests, "Role")
    for each in of_kind(manifests, "Secret", "Deployment", "StatefulSet"):
        assert each["metadata"].get("namespace", NAMESPACE) != role["metadata"]["namespace"]


def test_the_grace_of_a_worker_covers_its_drain(manifests: list[Manifest]) -> None:
    worker = pods_of(manifests)["worker"]
    arguments = " ".join(worker["containers"][0]["args"])
    found = re.search(r"--worker-shutdown-timeout=(\d+)\b", arguments)
    assert found is not None
    # Dramatiq waits so long for its threads, and then again for its consumers, which an answer may hold up.
    assert worker["terminationGracePeriodSeconds"] * 1000 >= int(found[1]) + 30_000


def test_executions_reach_nobody_and_nobody_reaches_them(manifests: list[Manifest]) -> None:
    (policy,) = [
        each
        for each in of_kind(manifests, "NetworkPolicy")
        if each["metadata"].get("namespace", NAMESPACE) == EXECUTIONS_NAMESPACE
    ]
    assert policy["spec"] == {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}


def test_a_worker_reaches_names_server_and_api_only(manifests: list[Manifest]) -> None:
    worker = _policy_of(manifests, "worker")
    assert "ingress" not in worker
    assert _ports(worker) == {53, 6379, 443, 6443}
    scheduler = _policy_of(manifests, "scheduler")
    assert "ingress" not in scheduler
    assert _ports(scheduler) == {53, 6379}
    redis = _policy_of(manifests, "redis")
    assert "egress" not in redis
    assert [port["port"] for rule in redis["ingress"] for port in rule["ports"]] == [6379]


def test_a_server_of_ones_own_is_reached_at_the_address_that_is_given() -> None:
    (policy,) = [
        each for each in of_kind(kustomized(KUSTOMIZE / "base"), "NetworkPolicy") if "redis" in each["metadata"]["name"]
    ]
    (rule,) = policy["spec"]["egress"]
    assert rule == {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"protocol": "TCP", "port": 6379}]}
    (selected,) = [
        each["values"] for each in policy["spec"]["podSelector"]["matchExpressions"] if "component" in each["key"]
    ]
    assert selected == ["worker", "scheduler", "ledger", "api"]
    peers = [{"ipBlock": {"cidr": "10.0.0.5/32"}}]
    values = {
        "redis": {"trial": {"enabled": False}, "existingSecret": "own"},
        "networkPolicy": {"redis": {"peers": peers, "port": 6380}},
    }
    for component in ("worker", "scheduler"):
        egress = _policy_of(rendered(values), component)["egress"]
        assert {"to": peers, "ports": [{"protocol": "TCP", "port": 6380}]} in egress


def _policy_of(manifests: list[Manifest], component: str) -> Any:
    for policy in of_kind(manifests, "NetworkPolicy"):
        spec = policy["spec"]
        assert spec["policyTypes"] == ["Ingress", "Egress"]
        if spec["podSelector"].get("matchLabels", {}).get("app.kubernetes.io/component") == component:
            return spec
    raise AssertionError(f"no policy selects {component}")


def _ports(policy: Any) -> set[int]:
    return {port["port"] for rule in policy["egress"] for port in rule["ports"]}


def test_every_variable_is_a_setting_and_the_servers_url_comes_from_a_secret(manifests: list[Manifest]) -> None:
    (settings,) = of_kind(manifests, "ConfigMap")
    found = from_environment(sections(), settings["data"])
    # The installation is the chart's release.
    assert found["k8s"] == {
        "backend": "kubernetes",
        "namespace": EXECUTIONS_NAMESPACE,
        "installation": "bandmaster",
    }
    pods = pods_of(manifests)
    for component in ("worker", "scheduler"):
        (container,) = pods[component]["containers"]
        assert container["envFrom"] == [{"configMapRef": {"name": settings["metadata"]["name"]}}]
        (url,) = container["env"]
        assert from_environment(sections(), {url["name"]: "x"}) == {"redis": {"url": "x"}}
        assert url["valueFrom"]["secretKeyRef"]["key"] == "url"


def test_the_probes_ask_for_progress_and_give_a_start_time(manifests: list[Manifest]) -> None:
    for component, pod in pods_of(manifests).items():
        (container,) = pod["containers"]
        asked = {name: container[name]["exec"]["command"][3:] for name in ("livenessProbe", "readinessProbe")}
        if component == "redis":
            assert asked == {"livenessProbe": ["server-alive"], "readinessProbe": ["server-ready"]}
            continue
        assert asked == {"livenessProbe": ["alive", "60"], "readinessProbe": ["ready", "60"]}
        startup = container["startupProbe"]
        # The wait for the server, which ends a process that found none, has to fit.
        assert startup["periodSeconds"] * startup["failureThreshold"] >= 60


def test_helm_and_kustomize_run_the_same_pods() -> None:
    values = {
        "ledger": {"enabled": True, "existingSecret": "bandmaster-ledger"},
        "api": {"enabled": True, "tokensSecret": "bandmaster-api-tokens"},
    }
    chart, kustomization = rendered(values), overlaid("ledger", "api", "api-tokens")
    (settings,) = of_kind(kustomization, "ConfigMap")
    pods = json.loads(json.dumps(pods_of(kustomization)).replace(settings["metadata"]["name"], "bandmaster-settings"))
    # Helm makes the tables by a Job, before all pods; a kustomization has no such order.
    (job,) = of_kind(chart, "Job")
    assert pods["ledger"].pop("initContainers") == job["spec"]["template"]["spec"]["containers"]
    for component, pod in pods_of(chart).items():
        pod["topologySpreadConstraints"] = _without_instance(pod.get("topologySpreadConstraints", []))
        pods[component].setdefault("topologySpreadConstraints", [])
        assert pod == pods[component]
    replicas = {component_of(each): each["spec"]["replicas"] for each in of_kind(chart, "Deployment")}
    assert replicas == {"worker": 3, "scheduler": 2, "ledger": 2, "api": 2}
    assert replicas == {component_of(each): each["spec"]["replicas"] for each in of_kind(kustomization, "Deployment")}


def _without_instance(constraints: list[Any]) -> list[Any]:
    for constraint in constraints:
        constraint["labelSelector"]["matchLabels"].pop("app.kubernetes.io/instance")
    return constraints


def test_disruption_budgets_and_autoscaling_take_the_newest_api_there_is() -> None:
    chart = rendered({"worker": {"autoscaling": {"enabled": True}}})
    assert {each["apiVersion"] for each in of_kind(chart, "PodDisruptionBudget")} == {"policy/v1"}
    (autoscaler,) = of_kind(chart, "HorizontalPodAutoscaler")
    assert autoscaler["apiVersion"] == "autoscaling/v2"
    worker = next(each for each in of_kind(chart, "Deployment") if component_of(each) == "worker")
    assert "replicas" not in worker["spec"]


def test_the_components_of_the_kustomization_add_budgets_and_autoscaling() -> None:
    manifests = overlaid("disruption-budgets", "autoscaling")
    budgets = [each["spec"]["selector"]["matchLabels"] for each in of_kind(manifests, "PodDisruptionBudget")]
    assert [each["app.kubernetes.io/component"] for each in budgets] == ["api", "ledger", "scheduler", "worker"]
    assert len(of_kind(manifests, "HorizontalPodAutoscaler")) == 1
    worker = next(each for each in of_kind(manifests, "Deployment") if component_of(each) == "worker")
    assert "replicas" not in worker["spec"]


def test_the_chart_renders_the_same_each_time_and_no_secret() -> None:
    assert rendered() == rendered()
    assert not of_kind(rendered(), "Secret")

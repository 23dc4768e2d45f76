"""The chart and the kustomization with /metrics, as a text: who serves it, and who may scrape it."""

import tarfile
from pathlib import Path
from typing import Any

import pytest
from deploy_chart import CHART, helm, of_kind, overlaid, pods_of, rendered
from deploy_kubectl import Manifest
from kubernetes_rules import schema_fault

pytestmark = pytest.mark.cluster

DASHBOARDS = Path(__file__).parents[2] / "configs" / "grafana"
LEDGER: dict[str, Any] = {"ledger": {"enabled": True, "existingSecret": "my-ledger"}}


def serving(manifests: list[Manifest]) -> dict[str, dict[str, str]]:
    """By component with a port for metrics: the variables of metrics."""
    found: dict[str, dict[str, str]] = {}
    for component, pod in pods_of(manifests).items():
        (container,) = pod["containers"]
        if any(port["name"] == "metrics" for port in container.get("ports", [])):
            variables = [each for each in container["env"] if each["name"].startswith("BANDMASTER_METRICS__")]
            found[component] = {each["name"]: each["value"] for each in variables}
    return found


def reaching(manifests: list[Manifest], policy: str) -> Any:
    """The ingress rules of a NetworkPolicy."""
    (found,) = [each for each in of_kind(manifests, "NetworkPolicy") if each["metadata"]["name"] == policy]
    return found["spec"].get("ingress")


def services(manifests: list[Manifest]) -> dict[str, Any]:
    return {each["metadata"]["name"]: each["spec"] for each in of_kind(manifests, "Service")}


def test_nothing_is_served_unless_it_is_asked_for() -> None:
    manifests = rendered(LEDGER)
    assert serving(manifests) == {}
    assert "bandmaster-metrics" not in services(manifests)
    assert reaching(manifests, "bandmaster-ledger") is None


def test_the_ledger_serves_them_and_without_one_the_scheduler() -> None:
    on = {"metrics": {"enabled": True, "port": 9000}}
    for values, component, variable in (
        (LEDGER | on, "ledger", "BANDMASTER_METRICS__PORT"),
        (on, "scheduler", "BANDMASTER_METRICS__SCHEDULER_PORT"),
    ):
        manifests = rendered(values)
        assert serving(manifests) == {component: {"BANDMASTER_METRICS__HOST": "0.0.0.0", variable: "9000"}}
        service = services(manifests)["bandmaster-metrics"]
        assert service["selector"]["app.kubernetes.io/component"] == component
        assert service["ports"] == [{"name": "metrics", "port": 9000, "targetPort": "metrics", "protocol": "TCP"}]
        assert reaching(manifests, f"bandmaster-{component}") == [{"ports": [{"protocol": "TCP", "port": 9000}]}]
        assert [fault for each in manifests if (fault := schema_fault(each, "1.31"))] == []


def test_who_may_scrape_is_bounded_and_a_monitor_finds_the_pods() -> None:
    peers = [{"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}}]
    monitor = {"enabled": True, "interval": "15s", "labels": {"release": "prometheus"}}
    manifests = rendered(
        LEDGER | {"metrics": {"enabled": True, "podMonitor": monitor}, "networkPolicy": {"metrics": {"peers": peers}}}
    )
    (rule,) = reaching(manifests, "bandmaster-ledger")
    assert rule["from"] == peers
    (found,) = of_kind(manifests, "PodMonitor")
    assert found["metadata"]["labels"]["release"] == "prometheus"
    assert found["spec"]["podMetricsEndpoints"] == [{"port": "metrics", "path": "/metrics", "interval": "15s"}]
    (ledger,) = [each for each in of_kind(manifests, "Deployment") if each["metadata"]["name"] == "bandmaster-ledger"]
    labels, selector = ledger["spec"]["template"]["metadata"]["labels"], found["spec"]["selector"]
    assert selector["matchLabels"].items() <= labels.items()
    (expression,) = selector["matchExpressions"]
    assert expression["values"] == ["ledger", "api"]


def test_the_api_serves_its_own() -> None:
    manifests = rendered(LEDGER | {"api": {"enabled": True}, "metrics": {"enabled": True}})
    host = {"BANDMASTER_METRICS__HOST": "0.0.0.0"}
    assert serving(manifests) == {
        "ledger": host | {"BANDMASTER_METRICS__PORT": "8641"},
        "api": host | {"BANDMASTER_METRICS__API_PORT": "8641"},
    }
    ports = [rule["ports"] for rule in reaching(manifests, "bandmaster-api")]
    assert ports == [[{"protocol": "TCP", "port": 8640}], [{"protocol": "TCP", "port": 8641}]]
    assert [fault for each in manifests if (fault := schema_fault(each, "1.31"))] == []


def test_the_kustomization_serves_them_too() -> None:
    manifests = overlaid("ledger", "metrics")
    assert serving(manifests) == {"ledger": {"BANDMASTER_METRICS__HOST": "0.0.0.0", "BANDMASTER_METRICS__PORT": "8641"}}
    assert services(manifests)["bandmaster-metrics"]["ports"][0]["targetPort"] == "metrics"
    assert reaching(manifests, "bandmaster-metrics") == [{"ports": [{"protocol": "TCP", "port": 8641}]}]


def test_dashboards_are_there_if_asked_for_where_the_sidecar_looks() -> None:
    def found(**values: Any) -> list[Manifest]:
        manifests = rendered({"metrics": {"enabled": True, "dashboards": values}})
        return [each for each in of_kind(manifests, "ConfigMap") if "grafana_dashboard" in each["metadata"]["labels"]]

    assert found() == []
    (here,) = found(enabled=True)
    assert "namespace" not in here["metadata"]
    assert here["metadata"]["labels"]["grafana_dashboard"] == "1"
    texts = {f"bandmaster-{each.name}": each.read_text(encoding="utf-8") for each in DASHBOARDS.iterdir()}
    assert here["data"] == texts
    assert schema_fault(here, "1.31") is None
    (there,) = found(enabled=True, namespace="monitoring")
    assert (there["metadata"]["namespace"], there["data"]) == ("monitoring", here["data"])


def test_a_packaged_chart_has_the_dashboards_themselves(tmp_path: Path) -> None:
    helm().package(str(CHART), destination=str(tmp_path))
    (package,) = tmp_path.glob("*.tgz")
    with tarfile.open(package) as archive:
        packed = {Path(each.name).name: archive.extractfile(each) for each in archive if "/dashboards/" in each.name}
        read = {name: file.read() for name, file in packed.items() if file is not None}
    assert read == {each.name: each.read_bytes() for each in DASHBOARDS.iterdir()}

"""The kustomization with ledger and API, as a text: whom they reach, who has which Secret, who makes the tables."""

from typing import Any

import pytest
from deploy_chart import KUSTOMIZE, component_of, kustomized, of_kind, overlaid, pods_of, rendered
from deploy_kubectl import Manifest
from kubernetes_rules import restricted_faults

pytestmark = pytest.mark.cluster

PODS = ("ledger", "api")


@pytest.fixture(scope="module")
def manifests() -> list[Manifest]:
    return overlaid("ledger", "api", "api-tokens")


def secrets_of(pod: Any) -> set[tuple[str, str]]:
    """The Secrets that its containers have: name and key of variables, name of volumes."""
    containers = (*pod["containers"], *pod.get("initContainers", ()))
    variables = [each["valueFrom"]["secretKeyRef"] for one in containers for each in one["env"] if "valueFrom" in each]
    volumes = [each["secret"]["secretName"] for each in pod["volumes"] if "secret" in each]
    return {*((each["name"], each["key"]) for each in variables), *((name, "") for name in volumes)}


def test_a_kustomization_without_them_has_nothing_of_them() -> None:
    for folder in ("base", "trial"):
        plain = kustomized(KUSTOMIZE / folder)
        assert not set(PODS) & pods_of(plain).keys()
        assert not [
            each for each in plain if each["metadata"]["name"].endswith(("-ledger", "-api", "-database-egress"))
        ]


def test_only_their_pods_have_the_databases_url_and_only_the_apis_have_tokens(manifests: list[Manifest]) -> None:
    redis, database, tokens = ("bandmaster-redis", "url"), ("bandmaster-ledger", "url"), ("bandmaster-api-tokens", "")
    having = {component: secrets_of(pod) for component, pod in pods_of(manifests).items()}
    assert having.pop("redis") == {("bandmaster-redis", "password")}
    assert having == {
        "worker": {redis},
        "scheduler": {redis},
        "ledger": {redis, database},
        "api": {redis, database, tokens},
    }
    assert not of_kind(manifests, "Secret")
    assert secrets_of(pods_of(overlaid("ledger", "api"))["api"]) == {redis, database}


def test_their_pods_are_restricted_and_have_their_rights_as_the_chart_gives_them(manifests: list[Manifest]) -> None:
    values = {"ledger": {"enabled": True, "existingSecret": "bandmaster-ledger"}, "api": {"enabled": True}}
    for made in (manifests, rendered(values)):
        assert pods_of(made)["ledger"]["automountServiceAccountToken"] is False
        assert pods_of(made)["api"]["automountServiceAccountToken"] is True
        assert pods_of(made)["api"]["serviceAccountName"] == "bandmaster-api"
    assert rights_of_the_api(manifests) == rights_of_the_api(rendered(values))
    for component in PODS:
        pod = pods_of(manifests)[component]
        assert restricted_faults(pod) == []
        for container in (*pod["containers"], *pod.get("initContainers", ())):
            assert container["securityContext"]["readOnlyRootFilesystem"] is True
            assert container["resources"]["requests"].keys() == {"cpu", "memory"}
            assert "memory" in container["resources"]["limits"]


def rights_of_the_api(manifests: list[Manifest]) -> list[Any]:
    """What its account may do, and where."""
    (role,) = [each for each in of_kind(manifests, "Role") if each["metadata"]["name"] == "bandmaster-api"]
    (binding,) = [each for each in of_kind(manifests, "RoleBinding") if each["metadata"]["name"] == "bandmaster-api"]
    places = [each["metadata"]["namespace"] for each in (role, binding)]
    return [role["rules"], binding["roleRef"], binding["subjects"], places]


def test_a_pod_that_writes_makes_its_tables_first(manifests: list[Manifest]) -> None:
    (upgrade,) = pods_of(manifests)["ledger"]["initContainers"]
    (ledger,) = pods_of(manifests)["ledger"]["containers"]
    assert upgrade["command"] == ["bandmaster", "ledger", "upgrade"]
    assert upgrade["image"] == ledger["image"]
    assert [each for each in ledger["env"] if "LEDGER" in each["name"]] == upgrade["env"][:1]


def test_the_api_is_reached_on_its_port_and_the_ledger_by_nobody(manifests: list[Manifest]) -> None:
    policies = policies_of(manifests)
    assert policies["bandmaster-api"]["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8640}]}]
    assert "ingress" not in policies["bandmaster-ledger"]
    for name, ports in {"bandmaster-api": {53, 6379, 443, 6443}, "bandmaster-ledger": {53, 6379}}.items():
        assert policies[name]["policyTypes"] == ["Ingress", "Egress"]
        assert {port["port"] for rule in policies[name]["egress"] for port in rule["ports"]} == ports
    (service,) = [each for each in of_kind(manifests, "Service") if component_of(each) == "api"]
    assert service["spec"]["ports"] == [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "api"}]
    deployment = next(each for each in of_kind(manifests, "Deployment") if component_of(each) == "api")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_both_reach_the_database_at_the_address_that_is_given(manifests: list[Manifest]) -> None:
    spec = policies_of(manifests)["bandmaster-database-egress"]
    assert spec["policyTypes"] == ["Egress"]
    assert spec["egress"] == [
        {"to": [{"ipBlock": {"cidr": "0.0.0.0/0"}}], "ports": [{"protocol": "TCP", "port": 5432}]}
    ]
    (selected,) = [each["values"] for each in spec["podSelector"]["matchExpressions"] if "component" in each["key"]]
    assert selected == ["ledger", "api"]


def policies_of(manifests: list[Manifest]) -> dict[str, Any]:
    """Name → what it says."""
    return {each["metadata"]["name"]: each["spec"] for each in of_kind(manifests, "NetworkPolicy")}

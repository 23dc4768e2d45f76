"""The chart with the ledger, as a text: who has the database's password, what its pods reach, when tables are made."""

from typing import Any

import pytest
from deploy_chart import component_of, of_kind, pods_of, rendered
from deploy_kubectl import Manifest
from kubernetes_rules import restricted_faults

pytestmark = pytest.mark.cluster

SECRET = {"valueFrom": {"secretKeyRef": {"name": "my-ledger", "key": "url"}}, "name": "BANDMASTER_LEDGER__URL"}


@pytest.fixture(scope="module")
def manifests() -> list[Manifest]:
    return rendered({"ledger": {"enabled": True, "existingSecret": "my-ledger"}})


@pytest.fixture(scope="module")
def upgrade(manifests: list[Manifest]) -> Any:
    (job,) = of_kind(manifests, "Job")
    return job


def test_a_chart_without_it_has_nothing_of_it() -> None:
    assert "ledger" not in pods_of(rendered())
    assert not of_kind(rendered(), "Job")


def test_only_its_pods_have_the_databases_url_and_it_is_in_a_secret(manifests: list[Manifest], upgrade: Any) -> None:
    pods = pods_of(manifests) | {"upgrade": upgrade["spec"]["template"]["spec"]}
    having = {name for name, pod in pods.items() if SECRET in pod["containers"][0].get("env", [])}
    assert having == {"ledger", "upgrade"}
    assert not of_kind(manifests, "Secret")


def test_its_pods_may_do_nothing_in_the_cluster(manifests: list[Manifest], upgrade: Any) -> None:
    for pod in (pods_of(manifests)["ledger"], upgrade["spec"]["template"]["spec"]):
        assert pod["automountServiceAccountToken"] is False
        assert restricted_faults(pod) == []
        assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"] is True


def test_they_reach_names_the_server_and_the_database_and_nobody_reaches_them(manifests: list[Manifest]) -> None:
    (policy,) = [each for each in of_kind(manifests, "NetworkPolicy") if each["metadata"]["name"].endswith("-ledger")]
    spec: Any = policy["spec"]
    assert set(spec["policyTypes"]) == {"Ingress", "Egress"}
    assert "ingress" not in spec
    assert {port["port"] for rule in spec["egress"] for port in rule["ports"]} == {53, 6379, 5432}
    (expression,) = spec["podSelector"]["matchExpressions"]
    assert expression["values"] == ["ledger", "ledger-upgrade"]


def test_tables_are_made_before_the_pods_of_a_release_come(upgrade: Any) -> None:
    annotations = upgrade["metadata"]["annotations"]
    assert annotations["helm.sh/hook"] == "pre-install,pre-upgrade"
    assert "before-hook-creation" in annotations["helm.sh/hook-delete-policy"]
    (container,) = upgrade["spec"]["template"]["spec"]["containers"]
    assert container["command"] == ["bandmaster", "ledger", "upgrade"]
    assert upgrade["spec"]["activeDeadlineSeconds"] == 600


def test_one_of_its_pods_may_be_evicted_at_a_time(manifests: list[Manifest]) -> None:
    budgets = {component_of(each) for each in of_kind(manifests, "PodDisruptionBudget")}
    assert budgets == {"worker", "scheduler", "ledger"}

"""The chart with the API, as a text: what its pods have, may do and reach, who reaches them, how they are probed."""

from typing import Any

import pytest
from deploy_chart import EXECUTIONS_NAMESPACE, NAMESPACE, component_of, helm, of_kind, pods_of, rendered
from deploy_kubectl import Manifest
from deploy_manual import manual_command, manual_values
from kubernetes_rules import restricted_faults

pytestmark = pytest.mark.cluster

WITH_LEDGER = {"ledger": {"enabled": True, "existingSecret": "my-ledger"}}
DATABASE = {"valueFrom": {"secretKeyRef": {"name": "my-ledger", "key": "url"}}, "name": "BANDMASTER_LEDGER__URL"}


def chart(**api: Any) -> list[Manifest]:
    return rendered(WITH_LEDGER | {"api": {"enabled": True, **api}})


@pytest.fixture(scope="module")
def container() -> Any:
    (found,) = pods_of(chart())["api"]["containers"]
    return found


def test_a_chart_without_it_has_nothing_of_it() -> None:
    assert "api" not in pods_of(rendered(WITH_LEDGER))
    assert not [each for each in rendered(WITH_LEDGER) if each["metadata"]["name"].endswith("-api")]


def test_it_needs_tokens_from_somewhere() -> None:
    said = r"nobody could call the API.* set ledger\.enabled.* or api\.tokensSecret"
    with pytest.raises(helm().HelmError, match=said):
        rendered({"api": {"enabled": True}})


def test_with_a_secret_of_tokens_it_needs_no_ledger() -> None:
    manifests = rendered({"api": {"enabled": True, "tokensSecret": "my-tokens"}})
    pods = pods_of(manifests)
    assert "ledger" not in pods
    given = {each["name"] for each in pods["api"]["containers"][0]["env"]}
    assert "BANDMASTER_API__TOKENS_FILE" in given
    assert "BANDMASTER_LEDGER__URL" not in given
    assert _reached(manifests) == {53, 6379, 443, 6443}, "there is no database to be reached"


def test_the_manuals_commands_install_it() -> None:
    pods = pods_of(rendered(manual_values("ledger.enabled") | manual_values("api.enabled")))
    assert pods.keys() >= {"ledger", "api"}
    _, _, kind, secret, _ = manual_command("create secret", "bandmaster-ledger")
    for component in ("ledger", "api"):
        (url,) = [each for each in pods[component]["containers"][0]["env"] if each["name"] == DATABASE["name"]]
        assert (kind, url["valueFrom"]["secretKeyRef"]) == ("generic", {"name": secret, "key": "url"})
    assert manual_command("port-forward")[1] == "service/bandmaster-api"


def test_its_pods_have_the_database_and_are_restricted(container: Any) -> None:
    pod = pods_of(chart())["api"]
    assert DATABASE in container["env"]
    assert restricted_faults(pod) == []
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


def test_its_pods_may_read_executions_and_what_they_print_and_do_nothing_else() -> None:
    manifests = chart()
    pod = pods_of(manifests)["api"]
    assert (pod["serviceAccountName"], pod["automountServiceAccountToken"]) == ("bandmaster-api", True)
    (role,) = _of_api(manifests, "Role", "ClusterRole")
    assert (role["kind"], role["metadata"]["namespace"]) == ("Role", EXECUTIONS_NAMESPACE)
    assert role["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]},
    ]
    (binding,) = _of_api(manifests, "RoleBinding", "ClusterRoleBinding")
    assert (binding["kind"], binding["roleRef"]["name"]) == ("RoleBinding", role["metadata"]["name"])
    assert binding["subjects"] == [{"kind": "ServiceAccount", "name": "bandmaster-api", "namespace": NAMESPACE}]
    assert binding["metadata"]["namespace"] == EXECUTIONS_NAMESPACE


def test_it_may_be_left_without_any_right_in_the_cluster() -> None:
    manifests = chart(readOutput=False)
    pod = pods_of(manifests)["api"]
    assert pod["automountServiceAccountToken"] is False
    assert "serviceAccountName" not in pod
    assert _of_api(manifests, "ServiceAccount", "Role", "RoleBinding") == []
    assert _reached(manifests) == {53, 6379, 5432}


def test_its_account_may_be_one_of_your_own() -> None:
    manifests = chart(serviceAccount={"create": False, "name": "mine"})
    assert pods_of(manifests)["api"]["serviceAccountName"] == "mine"
    assert _of_api(manifests, "ServiceAccount") == []
    (binding,) = _of_api(manifests, "RoleBinding")
    assert binding["subjects"][0]["name"] == "mine"
    with pytest.raises(helm().HelmError, match=r"api\.serviceAccount\.name: needed"):
        chart(serviceAccount={"create": False})


def _of_api(manifests: list[Manifest], *kinds: str) -> list[Manifest]:
    return [each for each in of_kind(manifests, *kinds) if each["metadata"]["name"].endswith("-api")]


def _reached(manifests: list[Manifest]) -> set[int]:
    (policy,) = _of_api(manifests, "NetworkPolicy")
    return {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}


def test_it_is_probed_by_a_name_that_is_always_allowed(container: Any) -> None:
    for probe, path in (("startupProbe", "/healthz"), ("livenessProbe", "/healthz"), ("readinessProbe", "/readyz")):
        asked = container[probe]["httpGet"]
        assert (asked["path"], asked["scheme"]) == (path, "HTTP")
        assert asked["httpHeaders"] == [{"name": "Host", "value": "localhost"}]


def test_with_a_secret_of_tokens_it_reads_their_file() -> None:
    pod = pods_of(chart(tokensSecret="my-tokens"))["api"]
    (container,) = pod["containers"]
    (file,) = [each["value"] for each in container["env"] if each["name"] == "BANDMASTER_API__TOKENS_FILE"]
    (mounted,) = [each for each in container["volumeMounts"] if each["name"] == "tokens"]
    assert file == f"{mounted['mountPath']}/tokens.toml"
    assert mounted["readOnly"] is True
    (volume,) = [each for each in pod["volumes"] if each["name"] == "tokens"]
    assert volume["secret"] == {"secretName": "my-tokens", "defaultMode": 0o440}


def test_with_a_certificate_it_speaks_tls() -> None:
    pod = pods_of(chart(tlsSecret="my-tls"))["api"]
    (container,) = pod["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert environment["BANDMASTER_API__TLS_KEY"] == "/etc/bandmaster/tls/tls.key"
    assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
    (volume,) = [each for each in pod["volumes"] if each["name"] == "tls"]
    assert volume["secret"]["secretName"] == "my-tls"


def test_it_is_reached_on_its_port_and_reaches_names_server_database_and_cluster() -> None:
    manifests = chart()
    (service,) = _of_api(manifests, "Service")
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "api")
    (policy,) = _of_api(manifests, "NetworkPolicy")
    spec: Any = policy["spec"]
    assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8640}]}]
    assert _reached(manifests) == {53, 6379, 5432, 443, 6443}
    (worker,) = [each for each in of_kind(manifests, "NetworkPolicy") if each["metadata"]["name"].endswith("-worker")]
    assert spec["egress"][-1] == worker["spec"]["egress"][-1], "the cluster's API is where it is for workers"
    assert {component_of(each) for each in of_kind(manifests, "PodDisruptionBudget")} == {
        *("worker", "scheduler", "ledger", "api")
    }

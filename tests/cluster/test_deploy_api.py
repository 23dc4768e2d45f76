"""The chart with the API, as a text: what its pods have and reach, who reaches them, and how they are probed."""

from typing import Any

import pytest
from deploy_chart import component_of, helm, of_kind, pods_of, rendered
from deploy_kubectl import Manifest
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


def test_it_needs_the_ledger() -> None:
    with pytest.raises(helm().HelmError, match=r"api\.enabled: the API reads tokens and history"):
        rendered({"api": {"enabled": True}})


def test_its_pods_have_the_database_and_may_do_nothing_in_the_cluster(container: Any) -> None:
    pod = pods_of(chart())["api"]
    assert DATABASE in container["env"]
    assert pod["automountServiceAccountToken"] is False
    assert restricted_faults(pod) == []
    assert container["securityContext"]["readOnlyRootFilesystem"] is True


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


def test_it_is_reached_on_its_port_and_reaches_names_server_and_database() -> None:
    manifests = chart()
    (service,) = [each for each in of_kind(manifests, "Service") if each["metadata"]["name"].endswith("-api")]
    (port,) = service["spec"]["ports"]
    assert (port["port"], port["targetPort"]) == (80, "api")
    (policy,) = [each for each in of_kind(manifests, "NetworkPolicy") if each["metadata"]["name"].endswith("-api")]
    spec: Any = policy["spec"]
    assert spec["ingress"] == [{"ports": [{"protocol": "TCP", "port": 8640}]}]
    assert {port["port"] for rule in spec["egress"] for port in rule["ports"]} == {53, 6379, 5432}
    assert {component_of(each) for each in of_kind(manifests, "PodDisruptionBudget")} == {
        *("worker", "scheduler", "ledger", "api")
    }

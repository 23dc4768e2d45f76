"""What a user of the chart may say in its values: what comes of it in the objects, and what is refused.

No cluster is asked: Helm's engine makes the objects, and they are read.
"""

import re
from typing import Any

import pytest
from deploy_chart import CHART, NAMESPACE, helm, of_kind, pods_of, rendered, with_image

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.configs.settings import sections
from bandmaster.configs.sources import from_environment

pytestmark = pytest.mark.cluster


@pytest.mark.parametrize(
    ("value", "secret_key", "variable", "components"),
    [
        ("notifySecret", "secret", "BANDMASTER_NOTIFY__SECRET", {"ledger", "api"}),
        ("itemsKeySecret", "key", "BANDMASTER_ITEMS__TOKEN_KEY", {"worker", "api"}),
    ],
)
def test_a_key_is_a_secret_of_those_who_need_it(
    value: str, secret_key: str, variable: str, components: set[str]
) -> None:
    ledger = {"enabled": True, "existingSecret": "bandmaster-ledger", value: "its-secret"}
    chart = rendered({"ledger": ledger, "api": {"enabled": True}})
    key: dict[str, Any] = {"secretKeyRef": {"name": "its-secret", "key": secret_key}}
    given = {"name": variable, "valueFrom": key}
    pods = pods_of(chart).items()
    assert {component for component, pod in pods if given in pod["containers"][0].get("env", [])} == components


def test_a_server_of_ones_own_replaces_the_trial_one() -> None:
    manifests = rendered({"redis": {"existingSecret": "my-redis", "trial": {"enabled": False}}})
    assert set(pods_of(manifests)) == {"worker", "scheduler"}
    assert not of_kind(manifests, "Secret", "Service", "StatefulSet")
    (container,) = pods_of(manifests)["worker"]["containers"]
    assert container["env"][0]["valueFrom"]["secretKeyRef"] == {"name": "my-redis", "key": "url"}


def test_a_chart_without_an_image_says_what_to_name() -> None:
    with pytest.raises(helm().HelmError, match=r"image\.repository: name the image"):
        rendered({"image": {"repository": ""}})


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"workers": {"replicas": 2}}, "workers"),
        ({"worker": {"replica": 2}}, "replica"),
        ({"settings": {"k8s": {"namespace": "elsewhere"}}}, "k8s"),
        ({"settings": {"redis": {"url": "redis://:secret@host"}}}, "redis"),
        ({"executions": {"namespace": "default"}}, "default"),
        ({"executions": {"namespace": NAMESPACE}}, "Secrets"),
        ({"redis": {"trial": {"enabled": False}}}, "redis.existingSecret"),
        ({"ledger": {"enabled": True}}, "ledger.existingSecret"),
        ({"settings": {"api": {"tokens_file": "/tmp/tokens.toml"}}}, "api"),
        ({"settings": {"ledger": {"url": "postgresql://:secret@host/ledger"}}}, "ledger"),
        ({"probes": {"staleSeconds": 5}}, "staleSeconds"),
    ],
)
def test_values_that_would_do_harm_or_nothing_are_refused(values: dict[str, Any], says: str) -> None:
    with pytest.raises(helm().HelmError, match=re.escape(says)):
        rendered(values)


@pytest.mark.parametrize(
    ("settings", "variable", "value"),
    [
        ({"k8s": {"allowed_images": ["python:*", "busybox:1"]}}, "K8S__ALLOWED_IMAGES", "python:*,busybox:1"),
        ({"notify": {"private_networks": ["10.1.0.0/16", "::/0"]}}, "NOTIFY__PRIVATE_NETWORKS", "10.1.0.0/16,::/0"),
        ({"items": {"api_url": "http://api.bandmaster"}}, "ITEMS__API_URL", "http://api.bandmaster"),
    ],
)
def test_a_setting_is_one_variable_and_a_list_is_one_too(settings: Any, variable: str, value: str) -> None:
    (made,) = of_kind(rendered({"settings": settings}), "ConfigMap")
    assert made["data"][f"BANDMASTER_{variable}"] == value


def test_tables_among_the_settings_become_json_that_is_read_as_it_was_written() -> None:
    profiles = {"gpu": {"extended_resources": {"nvidia.com/gpu": 1}, "tolerations": [{"key": "gpu"}]}}
    tolerations = [{"key": "spot", "operator": "Exists"}]
    manifests = rendered({"settings": {"k8s": {"profiles": profiles, "tolerations": tolerations}}})
    (settings,) = of_kind(manifests, "ConfigMap")
    read = KubernetesSettings.model_validate(from_environment(sections(), settings["data"])["k8s"])
    assert read.profiles["gpu"].extended_resources == {"nvidia.com/gpu": 1}
    assert (read.profiles["gpu"].tolerations, read.tolerations) == (({"key": "gpu"},), tuple(tolerations))


def test_the_chart_passes_helms_own_linter() -> None:
    report = helm().lint(CHART, with_image(None), namespace=NAMESPACE)
    assert [message for message in report["messages"] if message["severity"] >= 2] == []

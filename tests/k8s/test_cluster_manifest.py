"""The pod and the ConfigMap that a specification becomes: what a program may do, and what it is told."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_pods import recorded

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster import labels
from bandmaster.k8s.cluster.items import items_of, items_secret
from bandmaster.k8s.cluster.manifest import check_settings, pod_manifest, script_manifest, script_of
from bandmaster.k8s.cluster.objects import Pod
from bandmaster.k8s.cluster.outcome import look
from bandmaster.k8s.errors import BackendNotAvailable, PodRejected
from bandmaster.k8s.pods import PodScript, PodSpec
from bandmaster.scheduler.model.trace_context import TraceContext

SETTINGS = KubernetesSettings(namespace="pods", default_image="python:3.11-slim")
LABEL = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def spec(**fields: Any) -> PodSpec:
    values: dict[str, Any] = {"execution_id": "one", "attempt": 2, "action": "pod", "timeout_seconds": 60.0}
    if "script" not in fields:
        values["command"] = ("true",)
    return PodSpec(**(values | fields))


def pod_of(settings: KubernetesSettings = SETTINGS, **fields: Any) -> dict[str, Any]:
    return pod_manifest(spec(**fields), settings)


def container_of(settings: KubernetesSettings = SETTINGS, **fields: Any) -> dict[str, Any]:
    (container,) = pod_of(settings, **fields)["spec"]["containers"]
    return container


def test_a_program_is_never_root_and_gains_no_privilege() -> None:
    pod, container = pod_of()["spec"], container_of()
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_a_program_sees_no_token_no_service_and_nothing_of_its_host() -> None:
    pod = pod_of()["spec"]
    off = ("automountServiceAccountToken", "enableServiceLinks", "hostNetwork", "hostPID", "hostIPC")
    assert {pod[name] for name in off} == {False}
    assert not any("hostPath" in volume for volume in pod["volumes"])


def test_what_a_program_may_write_is_bounded() -> None:
    pod = pod_of(SETTINGS.model_copy(update={"tmp_size": "1Mi", "output_size": "2Mi"}))["spec"]
    assert {volume["name"]: volume["emptyDir"]["sizeLimit"] for volume in pod["volumes"]} == {
        "tmp": "1Mi",
        "output": "2Mi",
    }
    (container,) = pod["containers"]
    assert {mount["mountPath"] for mount in container["volumeMounts"]} == {"/tmp", "/output"}


def test_a_sandbox_an_account_and_secrets_come_from_the_settings_only() -> None:
    plain = pod_of()["spec"]
    assert not {"runtimeClassName", "serviceAccountName"} & plain.keys()
    update = {"runtime_class": "gvisor", "service_account": "nobody", "image_pull_secrets": ("registry",)}
    pod = pod_of(SETTINGS.model_copy(update=update))["spec"]
    assert (pod["runtimeClassName"], pod["serviceAccountName"]) == ("gvisor", "nobody")
    assert pod["imagePullSecrets"] == [{"name": "registry"}]


def test_a_user_namespace_is_there_only_if_it_was_asked_for() -> None:
    assert "hostUsers" not in pod_of()["spec"], "where nodes have none, no pod would start"
    assert pod_of(SETTINGS.model_copy(update={"user_namespaces": True}))["spec"]["hostUsers"] is False


def test_a_pod_runs_once_and_may_start_run_and_end_without_anybody_watching() -> None:
    pod = pod_of(timeout_seconds=0.2)
    # As they are by default: 300 s to start, the timeout rounded up, 5 s to end.
    assert (pod["spec"]["restartPolicy"], pod["spec"]["activeDeadlineSeconds"]) == ("Never", 300 + 1 + 5)
    assert pod["metadata"]["annotations"][labels.TIMEOUT_SECONDS] == "0.2"


def test_a_pod_is_held_by_a_finalizer_until_its_result_is_stored() -> None:
    assert pod_of()["metadata"]["finalizers"] == [labels.FINALIZER]


@pytest.mark.parametrize(
    ("asked", "requests", "limits"),
    [
        ({}, ("100m", "128Mi"), ("1", "512Mi")),
        ({"cpu_request": "2", "memory_request": "1Gi"}, ("2", "1Gi"), ("2", "1Gi")),
        ({"cpu_limit": "50m", "memory_limit": "64Mi"}, ("50m", "64Mi"), ("50m", "64Mi")),
        ({"cpu_request": "1", "cpu_limit": "4"}, ("1", "128Mi"), ("4", "512Mi")),
    ],
)
def test_requests_and_limits_are_always_set_and_never_cross(
    asked: dict[str, str], requests: tuple[str, str], limits: tuple[str, str]
) -> None:
    resources = container_of(SETTINGS, **asked)["resources"]
    assert (resources["requests"]["cpu"], resources["requests"]["memory"]) == requests
    assert (resources["limits"]["cpu"], resources["limits"]["memory"]) == limits


def test_a_command_arrives_as_it_was_written() -> None:
    # The kubelet turns $$ into $ and would expand $(HOME).
    assert container_of(command=("sh", "-c", "echo $$ $(HOME)"))["command"] == ["sh", "-c", "echo $$$$ $$(HOME)"]


def test_a_command_runs_in_its_images_folder_and_a_script_in_its_home() -> None:
    assert "workingDir" not in container_of()
    assert container_of(script=PodScript("print()"))["workingDir"] == "/output"


@pytest.mark.parametrize(
    ("script", "command"),
    [
        (PodScript("print()"), ["python3", "/bandmaster/script.py"]),
        (PodScript("#!/bin/sh\ntrue", "go now.sh"), ["/bandmaster/go now.sh"]),
        (PodScript("x", runtime="node"), ["node", "/bandmaster/script.js"]),
        (PodScript("x", runtime="/opt/run"), ["/opt/run", "/bandmaster/script"]),
    ],
)
def test_a_script_is_run_by_its_runtime(script: PodScript, command: list[str]) -> None:
    assert container_of(script=script)["command"] == command


def test_a_script_travels_in_a_config_map_that_the_pod_names_and_owns() -> None:
    script = PodScript("print('hi')", "my file.py")
    volumes = {each["name"]: each for each in pod_of(script=script)["spec"]["volumes"]}
    source = volumes[labels.SCRIPT_VOLUME]["configMap"]
    assert source["items"] == [{"key": "script", "path": "my file.py", "mode": 0o555}]
    owner = recorded("running")
    config_map = script_manifest(source["name"], script, owner)
    assert config_map["data"] == {"script": "print('hi')"}
    assert config_map["immutable"]
    assert config_map["metadata"]["ownerReferences"][0]["uid"] == owner.uid


def test_the_name_of_the_script_is_read_back_from_the_pod_and_never_the_same_twice() -> None:
    names: set[str | None] = set()
    for _ in range(2):
        made = pod_of(script=PodScript("print()"))
        found = recorded("running").model_dump(by_alias=True) | {"spec": made["spec"]}
        names.add(script_of(Pod.model_validate(found)))
    assert len(names) == 2
    assert None not in names
    assert script_of(recorded("running")) is None


def test_a_pod_tells_whose_it_is_and_shows_a_user_as_a_hash_only() -> None:
    metadata = pod_of(execution_id="x" + "." * 99, user_id="mary@example.org")["metadata"]
    assert metadata["annotations"][labels.EXECUTION_ID] == "x" + "." * 99
    assert metadata["labels"][labels.ATTEMPT] == "2"
    assert metadata["labels"][labels.MANAGED_BY] == "bandmaster"
    assert "mary" not in str(metadata)
    assert metadata["labels"][labels.USER] == labels.digest("mary@example.org")


@given(st.text("AZaz09._-@ é", min_size=1, max_size=128))
def test_every_text_becomes_a_label_value(text: str) -> None:
    value = labels.label_value(text)
    assert LABEL.fullmatch(value)
    assert value == labels.label_value(text)


def test_texts_that_had_to_be_changed_stay_apart() -> None:
    assert labels.label_value("job-1") == "job-1"
    assert labels.label_value("a" * 127 + "b") != labels.label_value("a" * 128)
    assert labels.label_value("...") != labels.label_value("---")


def test_an_image_that_is_not_on_the_list_is_refused_by_name() -> None:
    settings = SETTINGS.model_copy(update={"allowed_images": ("python:*", "busybox")})
    assert container_of(settings, image="python:3.12")["image"] == "python:3.12"
    with pytest.raises(PodRejected, match=r"'evil:1'.*python:\*, busybox"):
        pod_of(settings, image="evil:1")


@pytest.mark.parametrize("namespace", ["default", "kube-system"])
def test_a_namespace_that_is_everyones_is_refused(namespace: str) -> None:
    with pytest.raises(BackendNotAvailable, match=namespace):
        check_settings(SETTINGS.model_copy(update={"namespace": namespace}))


@pytest.mark.parametrize("field", ["cpu_limit", "memory_request", "tmp_size"])
def test_a_default_that_is_no_quantity_is_found_at_the_start(field: str) -> None:
    with pytest.raises(BackendNotAvailable, match="'lots'"):
        check_settings(SETTINGS.model_copy(update={field: "lots"}))


GPU = KubernetesSettings.model_validate(
    {
        "labels": {"team": "research", labels.ACTION: "spoofed"},
        "node_selector": {"zone": "a"},
        "profiles": {
            "gpu": {"extended_resources": {"nvidia.com/gpu": 1}, "memory_limit": "16Gi", "actions": ["train"]},
            "bare": {"node_selector": {}},
        },
    }
)


def test_a_profile_overrides_what_it_says_and_nothing_else() -> None:
    plain, gpu = pod_of(GPU), pod_of(GPU, profile="gpu", action="train")
    assert plain["spec"]["nodeSelector"] == gpu["spec"]["nodeSelector"] == {"zone": "a"}
    assert "nodeSelector" not in pod_of(GPU, profile="bare")["spec"]
    (container,) = gpu["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "100m", "memory": "128Mi", "nvidia.com/gpu": "1"},
        "limits": {"cpu": "1", "memory": "16Gi", "nvidia.com/gpu": "1"},
    }
    assert "nvidia.com/gpu" not in str(plain)


@pytest.mark.parametrize(
    ("profile", "action", "said"),
    [("huge", "train", "not configured; there are: bare, gpu"), ("gpu", "pod", "not for action 'pod'")],
)
def test_a_profile_that_is_not_listed_or_not_for_the_action_is_refused(profile: str, action: str, said: str) -> None:
    with pytest.raises(PodRejected, match=said):
        pod_of(GPU, profile=profile, action=action)


def test_labels_of_the_settings_never_hide_whose_pod_it_is() -> None:
    assert pod_of(GPU)["metadata"]["labels"] == pod_of()["metadata"]["labels"] | {"team": "research"}


def test_a_profile_with_a_size_that_is_none_is_named() -> None:
    settings = KubernetesSettings.model_validate({"namespace": "pods", "profiles": {"gpu": {"tmp_size": "much"}}})
    with pytest.raises(BackendNotAvailable, match=r"a setting of k8s\.profiles\.gpu: .*much"):
        check_settings(settings)


def test_a_script_that_is_too_long_for_the_cluster_is_refused_with_both_lengths() -> None:
    settings = SETTINGS.model_copy(update={"max_script_bytes": 10})
    assert pod_of(settings, script=PodScript("é" * 5))
    with pytest.raises(PodRejected, match=r"has 11 bytes; k8s\.max_script_bytes allows 10"):
        pod_of(settings, script=PodScript("é" * 5 + "x"))


def test_a_program_learns_of_the_span_of_its_attempt_and_the_pod_says_it() -> None:
    trace = TraceContext("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "a=$(HOME)")
    variables = {each["name"]: each["value"] for each in container_of(trace=trace)["env"]}
    assert variables["TRACEPARENT"] == trace.traceparent
    assert variables["TRACESTATE"] == "a=$$(HOME)", "Kubernetes makes it $(HOME)"
    sight = look(recorded("running", **pod_of(trace=trace)["metadata"]["annotations"]))
    assert sight is not None
    assert sight.status.trace == trace


def test_an_attempt_without_a_trace_leaves_nothing_of_one() -> None:
    assert "TRACE" not in str(pod_of()).upper()
    sight = look(recorded("running"))
    assert sight is not None
    assert sight.status.trace is None


def test_items_travel_in_a_secret_that_the_pod_names_and_owns_and_in_nothing_else() -> None:
    text = '{"token": "bm_items.1_secret", "items": []}'
    made = pod_of(items_file=text)
    assert "bm_items" not in str(made)
    (container,) = made["spec"]["containers"]
    path = next(each["value"] for each in container["env"] if each["name"] == "BANDMASTER_ITEMS_FILE")
    assert path == "/bandmaster-items/items.json"
    assert {"name": labels.ITEMS_VOLUME, "mountPath": "/bandmaster-items", "readOnly": True} in container[
        "volumeMounts"
    ]
    source = {each["name"]: each for each in made["spec"]["volumes"]}[labels.ITEMS_VOLUME]["secret"]
    # Root owns it; the pod's user is in its group.
    assert source["items"] == [{"key": "items", "path": "items.json", "mode": 0o440}]
    assert made["spec"]["securityContext"]["fsGroup"] == made["spec"]["securityContext"]["runAsUser"]
    running = recorded("running")
    read = Pod.model_validate(running.model_dump(by_alias=True) | {"spec": made["spec"]})
    assert items_of(read) == source["secretName"]
    secret = items_secret(source["secretName"], text, running)
    assert (secret["kind"], secret["immutable"], secret["stringData"]) == ("Secret", True, {"items": text})
    assert secret["metadata"]["ownerReferences"][0]["uid"] == running.uid
    assert items_of(running) is None
    assert "BANDMASTER_ITEMS_FILE" not in str(pod_of())

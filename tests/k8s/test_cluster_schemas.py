"""Every pod and ConfigMap that a specification can become, before the schemas of Kubernetes and Pod Security."""

import copy
from typing import Any

import pytest
from kubernetes_rules import RELEASES, restricted_faults, schema_fault
from recorded_pods import recorded

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.manifest import pod_manifest, script_manifest
from bandmaster.k8s.cluster.objects import Pod
from bandmaster.k8s.pods import PodScript, PodSpec

pytestmark = pytest.mark.slow

#: Every setting that a pod shows, at something else than its default.
FULL = KubernetesSettings.model_validate(
    {
        "image_pull_secrets": ["registry"],
        "service_account": "programs",
        "runtime_class": "gvisor",
        "user_namespaces": True,
        "init_process": True,
        "ephemeral_storage": "1Gi",
        "extended_resources": {"nvidia.com/gpu": 1},
        "node_selector": {"disk": "fast"},
        "tolerations": [{"key": "gpu", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        "affinity": {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]
                }
            }
        },
        "priority_class": "batch",
        "labels": {"team": "research"},
        "annotations": {"example.org/note": "any text"},
    }
)
SCRIPT = PodScript("print('ran')")


def spec(**fields: Any) -> PodSpec:
    values: dict[str, Any] = {"execution_id": "one", "attempt": 1, "action": "pod", "timeout_seconds": 60.0}
    return PodSpec(**(values | fields))


PODS = {
    "a command": pod_manifest(spec(command=("true",)), KubernetesSettings()),
    "a script of a user, with sizes of its own": pod_manifest(
        spec(script=SCRIPT, user_id="ann", cpu_request="10m", cpu_limit="2", memory_request="1Mi", memory_limit="1G"),
        KubernetesSettings(),
    ),
    "every setting": pod_manifest(spec(script=SCRIPT, user_id="ann"), FULL),
}


@pytest.mark.parametrize("release", RELEASES)
def test_pods_and_scripts_are_what_the_schemas_of_each_release_say(release: str) -> None:
    script = script_manifest("exec-one-1-0", SCRIPT, Pod.model_validate(recorded("running")))
    assert [fault for each in (*PODS.values(), script) if (fault := schema_fault(each, release))] == []


@pytest.mark.parametrize("release", RELEASES)
def test_a_field_that_no_schema_knows_is_found(release: str) -> None:
    wrong = copy.deepcopy(PODS["a command"])
    wrong["spec"]["containers"][0]["securityContext"]["readOnlyRootFileSystem"] = True
    assert "readOnlyRootFileSystem" in (schema_fault(wrong, release) or "")


@pytest.mark.parametrize("name", PODS)
def test_every_pod_obeys_the_restricted_standard(name: str) -> None:
    assert restricted_faults(PODS[name]["spec"]) == []


BROKEN: tuple[tuple[str, tuple[str | int, ...], object], ...] = (
    ("Host Namespaces", ("hostPID",), True),
    ("Volume Types", ("volumes",), [{"name": "host", "hostPath": {"path": "/"}}]),
    ("Sysctls", ("securityContext", "sysctls"), [{"name": "kernel.msgmax", "value": "1"}]),
    ("SELinux", ("securityContext", "seLinuxOptions"), {"type": "spc_t"}),
    ("AppArmor", ("securityContext", "appArmorProfile"), {"type": "Unconfined"}),
    ("Seccomp", ("securityContext", "seccompProfile"), {"type": "Unconfined"}),
    ("Running as Non-root user", ("securityContext", "runAsUser"), 0),
    ("Running as Non-root", ("containers", 0, "securityContext", "runAsNonRoot"), False),
    ("Privileged", ("containers", 0, "securityContext", "privileged"), True),
    ("Privilege Escalation", ("containers", 0, "securityContext", "allowPrivilegeEscalation"), True),
    ("Capabilities", ("containers", 0, "securityContext", "capabilities"), {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
    ("Capabilities", ("containers", 0, "securityContext", "capabilities"), {}),
    ("/proc Mount", ("containers", 0, "securityContext", "procMount"), "Unmasked"),
    ("Host Ports", ("containers", 0, "ports"), [{"containerPort": 1, "hostPort": 1}]),
    ("Host Probes", ("containers", 0, "livenessProbe"), {"tcpSocket": {"host": "10.0.0.1", "port": 1}}),
)


def test_a_pod_that_breaks_a_control_is_found(subtests: pytest.Subtests) -> None:
    for control, where, value in BROKEN:
        with subtests.test(control=control, where=where, value=value):
            pod: Any = copy.deepcopy(PODS["a command"]["spec"])
            inner = pod
            for step in where[:-1]:
                inner = inner[step]
            inner[where[-1]] = value
            assert control in " ".join(restricted_faults(pod))

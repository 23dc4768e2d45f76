"""What a program may do and see, asked by a program in a real pod."""

from typing import Any

import pytest
from cluster_admin import Admin
from making import Connect, MakeSpec
from watcher import Watcher

from bandmaster.k8s.errors import BackendNotAvailable
from bandmaster.k8s.pods import PodOutcome, Pods, Reason

LOOK_AROUND = """
id -u; id -g
touch /x 2>/dev/null || echo root is read-only
touch /tmp/x /output/x && echo tmp and output are writable
ls /var/run/secrets/kubernetes.io 2>/dev/null || echo no token
env | grep _SERVICE_HOST || echo no services
grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status
"""


def run(pods: Pods, spec: Any) -> PodOutcome:
    created = pods.create(spec)
    with Watcher(pods) as watcher:
        return watcher.end(created.name)


def test_a_program_is_nobody_and_sees_nothing(pods: Pods, spec: MakeSpec) -> None:
    said = run(pods, spec(LOOK_AROUND)).output_tail.splitlines()
    assert said[:6] == [
        "65532",
        "65532",
        "root is read-only",
        "tmp and output are writable",
        "no token",
        # Kubernetes gives every pod the address of the API itself; without service links of nothing else.
        next(line for line in said if line.startswith("KUBERNETES_SERVICE_HOST")),
    ]
    assert [line.split() for line in said[6:]] == [
        ["CapBnd:", "0000000000000000"],
        ["CapEff:", "0000000000000000"],
        ["NoNewPrivs:", "1"],
        ["Seccomp:", "2"],
    ] or [line.split() for line in said[6:]] == [
        ["CapEff:", "0000000000000000"],
        ["CapBnd:", "0000000000000000"],
        ["NoNewPrivs:", "1"],
        ["Seccomp:", "2"],
    ]


def test_a_program_that_fills_its_output_folder_is_stopped_and_to_blame(connect_with: Connect, spec: MakeSpec) -> None:
    pods = connect_with(output_size="1Mi")
    outcome = run(pods, spec("head -c 4000000 /dev/zero > /output/big; sleep 200"))
    assert outcome.reason is Reason.ERROR
    assert "exceeds the limit" in outcome.output_tail


def test_the_pod_carries_limits_and_tells_its_user_by_a_hash_only(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec("true", user_id="mary@example.org"))
    pod = admin.pod(namespace, created.name)
    assert pod is not None
    (container,) = pod["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "10m", "memory": "16Mi"},
        "limits": {"cpu": "500m", "memory": "64Mi"},
    }
    assert pod["spec"]["activeDeadlineSeconds"] == 300 + 300 + 2, "to start, to run and to end"
    assert "mary" not in str(pod)


def test_the_default_namespace_is_refused_before_anything_is_connected(connect_with: Connect) -> None:
    with pytest.raises(BackendNotAvailable, match="'default'"):
        connect_with(namespace="default")

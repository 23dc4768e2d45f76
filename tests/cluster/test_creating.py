"""One pod per attempt, however often it is created, and what stands in its way."""

import threading

import pytest
from cluster_admin import Admin
from making import Connect, MakeSpec
from watcher import Watcher

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.client import ClusterApi
from bandmaster.k8s.cluster.manifest import pod_manifest
from bandmaster.k8s.errors import PodConflict, PodRejected, PodsUnavailable
from bandmaster.k8s.pods import PodPhase, Pods, PodScript
from waiting import wait_until


def test_creating_twice_makes_one_pod(pods: Pods, spec: MakeSpec, admin: Admin, namespace: str) -> None:
    asked = spec("sleep 100")
    first, second = pods.create(asked), pods.create(asked)
    assert first.uid == second.uid
    assert len(admin.pods(namespace)) == 1


def test_creating_in_many_threads_at_once_makes_one_pod_with_one_script(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    asked = spec(python="print('once')")
    uids: list[str] = []
    threads = [threading.Thread(target=lambda: uids.append(pods.create(asked).uid)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    assert len(uids) == 8
    assert len(set(uids)) == 1
    assert len(admin.config_maps(namespace)) == 1


def test_a_program_finds_its_items_in_a_secret_that_goes_with_its_pod(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    line = 'echo "$BANDMASTER_ITEMS_FILE"; cat "$BANDMASTER_ITEMS_FILE"; echo x > "$BANDMASTER_ITEMS_FILE" || exit 3'
    asked = spec(line, items_file='{"items": []}\n')
    created = pods.create(asked)
    assert pods.create(asked).uid == created.uid
    with Watcher(pods) as watcher:
        outcome = watcher.end(created.name)
    assert outcome.output_tail.splitlines()[:2] == ["/bandmaster-items/items.json", '{"items": []}']
    assert outcome.exit_code == 3
    assert len(admin.secrets(namespace)) == 1
    assert "BANDMASTER_ITEMS_FILE" in str(admin.pod(namespace, created.name))
    pods.acknowledge(created.name, uid=created.uid)
    pods.delete(created.name, uid=created.uid)
    wait_until(lambda: not admin.secrets(namespace), timeout_seconds=60, what="the collection of the items")


def test_an_ended_pod_of_the_same_attempt_is_adopted_with_its_outcome(pods: Pods, spec: MakeSpec) -> None:
    asked = spec("echo done")
    created = pods.create(asked)
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    adopted = pods.create(asked)
    assert adopted.uid == created.uid
    assert adopted.outcome is not None
    assert adopted.outcome.output_tail == "done\n"


def test_every_attempt_has_a_pod_of_its_own(pods: Pods, spec: MakeSpec) -> None:
    first = pods.create(spec("sleep 100", execution_id="same"))
    second = pods.create(spec("sleep 100", execution_id="same", attempt=2))
    assert first.name != second.name
    assert {status.attempt for status in pods.list()} == {1, 2}


def test_a_pod_that_is_being_deleted_is_not_adopted(pods: Pods, spec: MakeSpec) -> None:
    asked = spec("sleep 100")
    created = pods.create(asked)
    with Watcher(pods) as watcher:
        watcher.wait_running(created.name)
        pods.delete(created.name, uid=created.uid)
        with pytest.raises(PodConflict, match="being deleted"):
            pods.create(asked)


def test_a_strangers_pod_is_not_adopted(pods: Pods, spec: MakeSpec, admin: Admin, namespace: str) -> None:
    asked = spec("true")
    stranger = {
        "metadata": {"name": asked.name},
        "spec": {
            "schedulerName": "nobody",
            "automountServiceAccountToken": False,
            "containers": [{"name": "x", "image": "x"}],
        },
    }
    admin.create(namespace, stranger)
    with pytest.raises(PodConflict, match="not Bandmaster's"):
        pods.create(asked)


def test_a_creation_that_was_cut_short_before_the_script_is_finished_by_the_next(
    pods: Pods, spec: MakeSpec, cluster_settings: KubernetesSettings, admin: Admin, namespace: str
) -> None:
    asked = spec(python="print('at last')")
    ClusterApi(cluster_settings).create_pod(pod_manifest(asked, cluster_settings))  # and then it died
    assert admin.config_maps(namespace) == []
    created = pods.create(asked)
    assert created.phase is PodPhase.PENDING
    with Watcher(pods) as watcher:
        assert watcher.end(created.name, timeout_seconds=180).output_tail == "at last\n"


def test_a_pod_that_never_gets_its_script_ends_at_the_pending_deadline(
    connect_with: Connect, spec: MakeSpec, cluster_settings: KubernetesSettings, admin: Admin, namespace: str
) -> None:
    asked = spec(python="print()")
    ClusterApi(cluster_settings).create_pod(pod_manifest(asked, cluster_settings))
    wait_until(lambda: admin.waiting(namespace, asked.name) == "ContainerCreating", what="the kubelet's first word")
    pods = connect_with(pending_deadline_seconds=3)
    with Watcher(pods) as watcher:
        outcome = watcher.end(asked.name, timeout_seconds=150)
    assert outcome.reason.value == "CreateContainerConfigError"


def test_the_script_goes_with_its_pod(pods: Pods, spec: MakeSpec, admin: Admin, namespace: str) -> None:
    created = pods.create(spec(python="print()"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    assert len(admin.config_maps(namespace)) == 1
    pods.delete(created.name, uid=created.uid)
    wait_until(lambda: not admin.config_maps(namespace), timeout_seconds=60, what="the collection of the script")


def test_a_script_of_the_greatest_size_runs(connect_with: Connect, spec: MakeSpec) -> None:
    pods = connect_with(max_script_bytes=1 << 20)
    text = "print('end')\n# "
    created = pods.create(spec(python=text + "x" * ((1 << 20) - len(text))))
    with Watcher(pods) as watcher:
        assert watcher.end(created.name).output_tail == "end\n"


def test_a_specification_that_the_cluster_refuses_is_rejected_for_good(pods: Pods, spec: MakeSpec) -> None:
    with pytest.raises(PodRejected, match="image"):
        pods.create(spec("true", image=" not an image "))
    assert pods.list() == []


def test_a_script_that_the_cluster_refuses_leaves_no_pod_behind(pods: Pods, spec: MakeSpec) -> None:
    with pytest.raises(PodRejected):
        pods.create(spec(script=PodScript("true", "..hidden", runtime="sh")))
    wait_until(lambda: not pods.list(), what="the departure of the pod")


def test_a_namespace_that_does_not_exist_is_unavailable_and_surely_without_a_pod(
    connect_with: Connect, spec: MakeSpec
) -> None:
    with pytest.raises(PodsUnavailable, match="not found") as caught:
        connect_with(namespace="bandmaster-no-such").create(spec("true"))
    assert not caught.value.pod_may_exist


def test_a_used_up_quota_is_unavailable_and_not_rejected(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    quota = {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    admin.core.create_namespaced_resource_quota(namespace, quota)
    wait_until(
        lambda: admin.core.read_namespaced_resource_quota("none", namespace).status.hard is not None, what="the quota"
    )
    with pytest.raises(PodsUnavailable, match="exceeded quota") as caught:
        pods.create(spec("true"))
    assert not caught.value.pod_may_exist

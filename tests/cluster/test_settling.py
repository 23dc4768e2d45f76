"""Nothing of an end is lost before it is stored, and nothing is kept for ever after: finalizer, deletion, clean-up."""

import itertools
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from making import Connect, MakeSpec
from watcher import Watcher

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.cleanup import Cleanup, Swept
from bandmaster.k8s.cluster.client import ClusterApi
from bandmaster.k8s.errors import PodNotFound
from bandmaster.k8s.pods import Pods, Reason
from waiting import GENEROUS_SECONDS, wait_until

OURS = {"app.kubernetes.io/managed-by": "bandmaster", "bandmaster.dev/installation": "bandmaster"}
FOREVER = "trap 'exit 1' TERM; while :; do sleep 0.1; done"


def test_an_end_is_kept_until_it_is_acknowledged_even_if_the_pod_is_deleted_by_hand(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec("echo kept; exit 5"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    admin.delete(namespace, created.name, grace_period_seconds=0)
    seen = pods.get(created.name)
    assert seen is not None
    assert seen.outcome is not None
    assert (seen.outcome.exit_code, seen.outcome.reason) == (5, Reason.ERROR)
    assert pods.acknowledge(created.name, created.uid)
    wait_until(lambda: pods.get(created.name) is None, what="the pod's departure")


def test_an_end_while_nobody_watches_is_seen_by_the_next_watcher(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("echo alone"))
    wait_until(lambda: (seen := pods.get(created.name)) and seen.outcome, timeout_seconds=60, what="the end")
    with Watcher(pods) as watcher:
        assert watcher.end(created.name).output_tail == "alone\n"


def test_a_pod_deleted_by_hand_while_nobody_watches_is_seen_by_the_next_watcher(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec(FOREVER))
    wait_until(
        lambda: (seen := pods.get(created.name)) and seen.phase.value == "Running", timeout_seconds=60, what="its start"
    )
    admin.delete(namespace, created.name)
    with Watcher(pods) as watcher:
        assert watcher.end(created.name).reason is Reason.DELETED


def test_an_acknowledged_pod_stays_for_its_log_and_is_not_watched_any_more(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("echo still here"))
    with Watcher(pods, settle=True) as watcher:
        watcher.end(created.name)
        watcher.wait_gone(created.name)
    with Watcher(pods) as later:
        other = pods.create(spec("true"))
        later.end(other.name)
    assert later.of(created.name) == []
    seen = pods.get(created.name)
    assert seen is not None
    assert seen.acknowledged
    assert b"".join(pods.logs(created.name)) == b"still here\n"


def test_what_has_not_ended_or_is_another_pod_cannot_be_acknowledged(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec(FOREVER))
    assert not pods.acknowledge(created.name, created.uid)
    with Watcher(pods) as watcher:
        watcher.wait_running(created.name)
    assert not pods.acknowledge(created.name, created.uid)
    assert not pods.acknowledge(created.name, "another")
    assert not pods.acknowledge("exec-nothing-1", created.uid)


def test_acknowledging_twice_is_as_good_as_once(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("true"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    assert pods.acknowledge(created.name, created.uid)
    assert pods.acknowledge(created.name, created.uid)


def test_an_acknowledgement_that_comes_after_another_leaves_the_pod_let_go(
    proxy: ApiProxy, connect_with: Connect, pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    through = connect_with(kubeconfig=str(proxy.kubeconfig))
    created = pods.create(spec("true"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    first_is_there = threading.Event()
    late = proxy.fail(Fault(r"^PATCH .*/pods", until=first_is_there, times=1))
    with ThreadPoolExecutor(1) as other:
        acknowledged = other.submit(through.acknowledge, created.name, created.uid)
        wait_until(lambda: late.hits, what="the later acknowledgement, which has looked at the pod")
        assert pods.acknowledge(created.name, created.uid)
        first_is_there.set()
        assert acknowledged.result(timeout=30)
    pod = admin.pod(namespace, created.name)
    assert pod is not None
    assert "finalizers" not in pod["metadata"]


def test_a_deletion_with_another_uid_changes_nothing(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec(FOREVER))
    assert not pods.delete(created.name, uid="6fd0c9c7-0000-0000-0000-000000000000")
    seen = pods.get(created.name)
    assert seen is not None
    assert not seen.deleting
    assert not pods.delete("exec-nothing-1")


def test_a_pod_that_has_no_node_yet_is_gone_as_soon_as_it_is_deleted(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("true", cpu_request="1000"))
    assert pods.delete(created.name, uid=created.uid)
    assert pods.get(created.name) is None


@pytest.mark.parametrize("image", [None, "localhost/missing:1"])
def test_a_deleted_pod_goes_without_anybodys_acknowledgement(
    pods: Pods, spec: MakeSpec, image: str | None, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec(FOREVER, **({} if image is None else {"image": image})))
    wait_until(lambda: (admin.pod(namespace, created.name) or {})["status"].get("startTime"), what="the kubelet")
    assert pods.delete(created.name, uid=created.uid)
    with Watcher(pods) as watcher:
        assert watcher.end(created.name, timeout_seconds=150).reason is Reason.DELETED
        wait_until(lambda: pods.get(created.name) is None, timeout_seconds=150, what="the pod's departure")


def test_an_ended_pod_is_gone_as_soon_as_it_is_deleted(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("true"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
    assert pods.delete(created.name, uid=created.uid)
    assert pods.get(created.name) is None


def test_settled_pods_are_removed_after_their_time(connect_with: Connect, spec: MakeSpec) -> None:
    pods = connect_with(pod_ttl_seconds=1)
    created = pods.create(spec("true"))
    with Watcher(pods, settle=True) as watcher:
        watcher.end(created.name)
        wait_until(lambda: pods.get(created.name) is None, timeout_seconds=60, what="the removal")


def test_a_script_without_a_pod_is_removed_once_it_is_not_young_any_more(
    cluster_settings: KubernetesSettings, admin: Admin, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    metadata = {"name": "orphan", "labels": OURS}
    admin.core.create_namespaced_config_map(namespace, {"metadata": metadata, "data": {"script": "true"}})
    cleanup = Cleanup(ClusterApi(cluster_settings), cluster_settings)
    assert cleanup.remove_orphans() == Swept(0, 0)
    monkeypatch.setattr("bandmaster.k8s.cluster.cleanup._YOUNG_SECONDS", -5.0)
    assert cleanup.remove_orphans() == Swept(1, 0)
    assert admin.config_maps(namespace) == []


def test_a_sweep_removes_all_that_is_outdated_and_goes_on_where_its_time_was_over(
    cluster_settings: KubernetesSettings, admin: Admin, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api = ClusterApi(cluster_settings)
    settled = OURS | {"bandmaster.dev/acknowledged": "true"}
    container = {"name": "program", "image": "none"}
    nowhere = {"bandmaster.dev/no-node": "has-this"}

    def make(number: int) -> None:
        metadata = {"name": f"settled-{number}", "labels": settled}
        api.create_pod(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": metadata,
                "spec": {"containers": [container], "nodeSelector": nowhere},
            }
        )

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(260)))
    cleanup = Cleanup(api, cluster_settings)
    # Its time is over after so many looks at the clock, three for a deletion, however long each takes.
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: 0.0 if next(looks) < 60 else 2 * GENEROUS_SECONDS, sleep=time.sleep)
    monkeypatch.setattr("bandmaster.k8s.cluster.cleanup._SWEEP_SECONDS", GENEROUS_SECONDS)
    with monkeypatch.context() as hurried:
        hurried.setattr("bandmaster.k8s.cluster.cleanup.time", clock)
        cleanup.sweep()
    left = len(admin.pods(namespace))
    assert 200 < left < 260
    began = time.monotonic()
    cleanup.sweep()
    assert admin.pods(namespace) == []
    assert time.monotonic() - began > left / 100 - 0.5, "no faster than the rate"


def test_a_script_goes_when_its_pod_is_acknowledged_and_not_before(
    pods: Pods, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    created = pods.create(spec(python="print('ran')"))
    with Watcher(pods) as watcher:
        watcher.end(created.name)
        assert len(admin.config_maps(namespace)) == 1
        assert pods.acknowledge(created.name, created.uid)
    assert admin.config_maps(namespace) == []
    assert b"".join(pods.logs(created.name)) == b"ran\n"
    assert pods.acknowledge(created.name, created.uid)


def test_a_log_is_read_whole_from_its_end_and_while_it_grows(pods: Pods, spec: MakeSpec) -> None:
    created = pods.create(spec("for i in 1 2 3 4 5; do echo line $i; sleep 0.5; done"))
    whole = b"".join(f"line {i}\n".encode() for i in range(1, 6))
    assert b"".join(pods.logs(created.name, follow=True)) == whole
    assert b"".join(pods.logs(created.name)) == whole
    assert b"".join(pods.logs(created.name, tail_bytes=7)) == b"line 5\n"
    assert b"".join(pods.logs(created.name, tail_bytes=7, follow=True)) == b"line 5\n"
    with pytest.raises(PodNotFound):
        pods.logs("exec-nothing-1")

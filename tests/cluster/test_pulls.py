"""Images that come slowly, not at all, or do not exist: waiting for them is not running, and has its own end."""

import time
from collections.abc import Iterator

import pytest
from cluster_admin import Admin
from components import components_or_skip
from making import Connect, MakeSpec
from registry import Registry
from watcher import Watcher

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.cluster.client import ClusterApi
from bandmaster.k8s.cluster.manifest import pod_manifest
from bandmaster.k8s.pods import Pods, Reason
from waiting import wait_until

TIMEOUT_SECONDS = 3
MINUTES = 60.0


@pytest.fixture
def registry(admin: Admin) -> Iterator[Registry]:
    """Of this machine, which is the cluster's node."""
    components_or_skip(admin)
    registry = Registry()
    yield registry
    registry.close()


def test_the_time_that_a_pull_takes_is_not_the_programs(pods: Pods, spec: MakeSpec, registry: Registry) -> None:
    created = pods.create(spec(command=("/program",), image=registry.image, timeout_seconds=TIMEOUT_SECONDS))
    with Watcher(pods) as watcher:
        wait_until(registry.asked.is_set, timeout_seconds=MINUTES, what="the pull")
        time.sleep(2 * TIMEOUT_SECONDS)  # the program's whole time and more, before it has begun
        assert watcher.ends(created.name) == []
        registry.open.set()
        outcome = watcher.end(created.name)
    assert (outcome.reason, outcome.exit_code) == (Reason.COMPLETED, 0)


def test_a_pull_that_takes_too_long_ends_with_its_own_reason_and_says_what_it_waited_for(
    connect_with: Connect, spec: MakeSpec, registry: Registry, admin: Admin, namespace: str
) -> None:
    pods = connect_with(pending_deadline_seconds=5)
    created = pods.create(spec(command=("/program",), image=registry.image, timeout_seconds=TIMEOUT_SECONDS))
    # A node that is slow to begin the pull would have the pod given up before, for another reason.
    wait_until(lambda: registry.image in pods.waits_for(created.name), timeout_seconds=MINUTES, what="the pull")
    with Watcher(pods, settle=True) as watcher:
        wait_until(
            lambda: "deletionTimestamp" in (admin.pod(namespace, created.name) or {})["metadata"],
            timeout_seconds=MINUTES,
            what="the pod given up",
        )
        registry.close()
        outcome = watcher.end(created.name, timeout_seconds=3 * MINUTES)
        watcher.wait_gone(created.name)
    assert outcome.reason is Reason.IMAGE_PULL
    assert "not started within 5 s" in outcome.output_tail
    assert f'Pulling image "{registry.image}"' in outcome.output_tail


def test_an_image_that_does_not_exist_is_not_waited_for_until_the_deadline(
    connect_with: Connect, spec: MakeSpec, registry: Registry
) -> None:
    pods = connect_with(pending_deadline_seconds=3_600)
    created = pods.create(spec("true", image=f"{registry.address}/missing:1"))
    with Watcher(pods, settle=True) as watcher:
        outcome = watcher.end(created.name, timeout_seconds=3 * MINUTES)
        watcher.wait_gone(created.name)
    assert outcome.reason is Reason.IMAGE_PULL
    assert "not found" in outcome.output_tail


def test_a_volume_that_does_not_come_is_named(
    connect_with: Connect, spec: MakeSpec, cluster_settings: KubernetesSettings
) -> None:
    pods = connect_with(pending_deadline_seconds=10)
    asked = spec(python="print()")
    # As its creator's death leaves it: without its script.
    ClusterApi(cluster_settings).create_pod(pod_manifest(asked, cluster_settings))
    # A node that is slow to begin would have the pod given up before anybody said that.
    wait_until(lambda: "FailedMount" in pods.waits_for(asked.name), timeout_seconds=MINUTES, what="the kubelet's word")
    with Watcher(pods, settle=True) as watcher:
        outcome = watcher.end(asked.name, timeout_seconds=3 * MINUTES)
        watcher.wait_gone(asked.name)
    assert outcome.reason is Reason.CREATE_CONTAINER_CONFIG_ERROR
    assert "FailedMount" in outcome.output_tail

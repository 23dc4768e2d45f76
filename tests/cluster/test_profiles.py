"""Where pods run and what they get, as settings and the profile that an execution names say."""

from cluster_admin import Admin
from making import Connect, MakeSpec
from watcher import Watcher

from bandmaster.configs.placement import Profile
from bandmaster.k8s.pods import PodPhase, Reason


def test_a_profile_brings_a_pod_to_the_nodes_that_the_settings_keep_the_others_from(
    connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    taken = Profile(
        node_selector={"kubernetes.io/os": "linux"}, ephemeral_storage="1Gi", annotations={"team": "research"}
    )
    pods = connect_with(
        node_selector={"bandmaster.dev/no-node": "has-this"},
        profiles={"anywhere": taken},
        tolerations=({"key": "spot", "operator": "Exists"},),
        affinity={"podAntiAffinity": {}},
    )
    waiting, running = pods.create(spec("true")), pods.create(spec("true", profile="anywhere"))
    with Watcher(pods) as watcher:
        assert watcher.end(running.name).reason is Reason.COMPLETED
    status = pods.get(waiting.name)
    assert status is not None
    assert status.phase is PodPhase.PENDING
    made = admin.pod(namespace, running.name)
    assert made is not None
    assert made["metadata"]["annotations"]["team"] == "research"
    assert made["spec"]["containers"][0]["resources"]["limits"]["ephemeral-storage"] == "1Gi"
    assert {"key": "spot", "operator": "Exists"} in made["spec"]["tolerations"]

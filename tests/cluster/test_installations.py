"""F37: several installations in one namespace of a cluster: neither sees, ends or removes the other's pods."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis
from cluster_admin import Admin
from faults_server.restoring import restoring_server
from installation import LONG_LEASES, Installation
from making import HELD, Connect, MakeSpec
from watcher import Watcher

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.errors import PodConflict
from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.model.states import TERMINAL, State
from waiting import wait_until

LABEL = "bandmaster.dev/installation"
EXECUTIONS = 6


@pytest.fixture
def other(tmp_path: Path, cluster_settings: KubernetesSettings, admin: Admin) -> Iterator[Installation]:
    """On a server of its own, in the same namespace, under another name; no worker runs yet."""
    folder = tmp_path / "other"
    folder.mkdir()
    named = cluster_settings.model_copy(update={"installation": "other"})
    with restoring_server() as server, redis.Redis.from_url(server.url) as client:
        installation = Installation(client, server.url, folder, named, admin)
        yield installation
        print(installation.members.end_all())


def ends(installation: Installation) -> Counter[str]:
    """How often each execution ended."""
    journal = installation.queue.journal.entries()
    return Counter(entry.execution_id for entry in journal if entry.fields.get("state") in TERMINAL)


def test_f37_two_installations_in_one_namespace_end_their_own_executions_once(
    installation: Installation, other: Installation
) -> None:
    both = (installation, other)
    workers = [
        each.worker(leases=LONG_LEASES, installation=("one" if each is installation else "other")) for each in both
    ]
    ids = [[each.submit(f"sleep 1; echo {number}") for number in range(EXECUTIONS)] for each in both]
    for each, own in zip(both, ids, strict=True):
        each.wait_until_all(own)
        assert {each.state(one) for one in own} == {State.COMPLETED}
        assert {each.meta(one)["attempt"] for one in own} == {"1"}
        assert [each.result(one)["output_tail"] for one in own] == [f"{number}\n" for number in range(EXECUTIONS)]
        assert ends(each) == Counter(own)
    installation.wait_until_settled()
    for worker, others in zip(workers, reversed(ids), strict=True):
        assert not [one for one in others if worker.says(one)], "it never heard of the other's"


def test_a_pod_of_another_installation_is_not_there(connect_with: Connect, spec: MakeSpec) -> None:
    ours, theirs = connect_with(installation="ours", pod_ttl_seconds=0), connect_with(installation="theirs")
    asked = spec("true")
    created = theirs.create(asked)
    with Watcher(theirs) as owner, Watcher(ours, settle=True) as watcher:
        owner.end(created.name)
        assert ours.get(created.name) is None
        assert ours.attempts(asked.execution_id) == []
        assert ours.list() == []
        assert not ours.delete(created.name)
        with pytest.raises(PodConflict, match="another installation"):
            ours.create(asked)
        own = ours.create(spec("true"))
        watcher.end(own.name)
    assert watcher.of(created.name) == []
    seen = theirs.get(created.name)
    assert seen is not None
    assert not seen.acknowledged


def test_a_pod_of_an_earlier_release_is_of_whoever_knows_it(
    installation: Installation, pods: Pods, admin: Admin, namespace: str
) -> None:
    worker = installation.worker()
    execution_id = installation.submit(f"{HELD}; echo $EXECUTION_ATTEMPT")
    name = installation.wait_for_pod(execution_id)
    # As an earlier release made it.
    admin.patch(namespace, name, {"metadata": {"labels": {LABEL: None}}})
    worker.kill()
    installation.worker()
    admin.let_go(namespace, name)
    installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.result(execution_id)["output_tail"] == "1\n"
    wait_until(lambda: (seen := pods.get(name)) is not None and seen.acknowledged, what="the acknowledgement")

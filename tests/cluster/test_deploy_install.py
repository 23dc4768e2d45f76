"""The chart installed on a real cluster: three worker pods, two schedulers, a server, and executions as pods.

One installation serves all these tests, in this order; each leaves it as ready as it found it.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest
from deploy_image import Image, usable_image
from deploy_kubectl import cluster_or_skip, undisturbed
from deploy_namespaces import own_namespaces
from deploy_pod_record import recorded_pods
from deploy_release import WORKER, Release
from deploy_services import services

from bandmaster.scheduler.events import ExecutionRequestedEvent
from bandmaster.scheduler.model.states import TERMINAL, State
from bandmaster.scheduler.queue import ExecutionQueueService
from waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.nightly]

LIMIT: Final = 6
EXECUTIONS: Final = 40
EXECUTION_SECONDS: Final = 3
ALL_END_SECONDS: Final = 300.0
ELECTION_SECONDS: Final = 60.0
END_SECONDS: Final = 90.0


def values_for(image: Image) -> dict[str, Any]:
    return {
        "settings": {
            # The image at hand has a Python and a shell, which is all that these executions need.
            "k8s": {"default_image": image.reference, "cpu_request": "10m", "memory_request": "32Mi"},
            "limits": {"max_concurrent_executions": LIMIT},
        },
        "worker": {"shutdownTimeoutSeconds": 10, "shutdownMarginSeconds": 10},
        "redis": {"trial": {"persistence": {"enabled": False}}},
        "probes": {"staleSeconds": 30},
    }


@pytest.fixture(autouse=True)
def peace() -> None:
    """The release holds off the disturbing tests for as long as it is there; to ask again could wait for ever."""


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    with usable_image(cluster_or_skip().kubeconfig) as image:
        yield image


@pytest.fixture(scope="module")
def release(image: Image) -> Iterator[Release]:
    kubectl = cluster_or_skip()
    with (
        undisturbed(kubectl),
        services(kubectl) as stand_in,
        own_namespaces(kubectl, of_executions=False) as namespaces,
    ):
        release = Release(kubectl, namespaces, image, stand_in)
        release.install(values_for(image))
        yield release


@pytest.fixture
def queue(release: Release) -> Iterator[ExecutionQueueService]:
    with release.server() as client:
        yield ExecutionQueueService(client)


def test_three_workers_two_schedulers_and_a_server_are_ready(release: Release) -> None:
    pods = {component: release.pods(component) for component in ("worker", "scheduler", "redis")}
    assert {component: len(found) for component, found in pods.items()} == {"worker": 3, "scheduler": 2, "redis": 1}
    statuses = [status for found in pods.values() for pod in found for status in pod["status"]["containerStatuses"]]
    assert all(status["ready"] and status["restartCount"] == 0 for status in statuses)


def test_the_command_of_the_manual_runs_an_execution(release: Release) -> None:
    sent = release.run("exec", f"deployment/{WORKER}", "--", "bandmaster", "submit", "--wait", "--", "echo", "hello")
    assert "COMPLETED" in sent, release.what_happened()


def test_the_workers_rights_suffice_for_a_script_its_output_and_its_end(
    release: Release, queue: ExecutionQueueService
) -> None:
    sent = release.command("submit", "-", "--runtime", "sh", stdin="echo begun; exec sleep 600")
    execution_id = sent["executions"][0]["execution_id"]

    def has_begun() -> bool:
        return (
            "begun" in release.attempt("exec", f"deployment/{WORKER}", "--", "bandmaster", "logs", execution_id).stdout
        )

    wait_until(has_begun, timeout_seconds=END_SECONDS, what="the output of its pod")
    release.command("cancel", execution_id)
    wait_until(lambda: _ended(queue, [execution_id]) == 1, timeout_seconds=END_SECONDS, what="its end")
    assert queue.views.meta(execution_id)["state"] == State.CANCELLED
    wait_until(lambda: _left_of(release, execution_id) == [], timeout_seconds=END_SECONDS, what="nothing to be left")


def _left_of(release: Release, execution_id: str) -> list[str]:
    where = ("-n", release.namespaces.executions, "-l")
    pods = release.kubectl.items("pods", *where, f"bandmaster.dev/execution={execution_id}")
    scripts = release.kubectl.items("configmaps", *where, "app.kubernetes.io/managed-by=bandmaster")
    return [each["metadata"]["name"] for each in (*pods, *scripts)]


def test_nothing_is_lost_when_a_worker_pod_is_killed_and_then_all_are_replaced(
    release: Release, queue: ExecutionQueueService
) -> None:
    before = {pod["metadata"]["name"] for pod in release.pods("worker")}
    with recorded_pods(release.kubectl, release.namespaces.executions) as record:
        ids = _send(queue, EXECUTIONS)
        wait_until(lambda: _ended(queue, ids) >= 5, timeout_seconds=ALL_END_SECONDS, what="the first five")
        release.run("delete", "pod", min(before), "--force", "--grace-period=0")
        wait_until(lambda: _ended(queue, ids) >= 12, timeout_seconds=ALL_END_SECONDS, what="the first twelve")
        release.run("rollout", "restart", f"deployment/{WORKER}")
        release.wait_ready()
        wait_until(
            lambda: _ended(queue, ids) == EXECUTIONS,
            timeout_seconds=ALL_END_SECONDS,
            what="the end of all",
        )
    assert not before & {pod["metadata"]["name"] for pod in release.pods("worker")}
    metas = queue.views.metas(ids)
    assert {meta["state"] for meta in metas} == {State.COMPLETED}
    for number, execution_id in enumerate(ids):
        result = json.loads(queue.views.result(execution_id) or b"{}")
        assert result["exit_code"] == 0
        assert f"number {number}" in json.dumps(result)
    status = queue.views.status()
    assert (status.active_count, status.queue_depth, status.dead_count) == (0, 0, 0)
    # As the API told it: never more than the limit, and never two pods of one attempt.
    assert record.most_at_once() <= LIMIT
    uids = record.uids()
    assert len(uids) >= EXECUTIONS
    assert [name for name, found in uids.items() if len(found) > 1] == []


def _send(queue: ExecutionQueueService, count: int) -> list[str]:
    program = "import sys, time; time.sleep(float(sys.argv[1])); print('number', sys.argv[2])"
    events = [
        ExecutionRequestedEvent(command=("python3", "-c", program, str(EXECUTION_SECONDS), str(number)))
        for number in range(count)
    ]
    for outcome in queue.enqueue_many(events):
        assert not isinstance(outcome, Exception), outcome
    return [event.execution_id for event in events]


def _ended(queue: ExecutionQueueService, ids: list[str]) -> int:
    return sum(meta.get("state") in TERMINAL for meta in queue.views.metas(ids))


def test_another_scheduler_leads_when_the_leaders_pod_is_killed(release: Release, queue: ExecutionQueueService) -> None:
    leader = wait_until(lambda: _leader(queue), timeout_seconds=ELECTION_SECONDS, what="a leader")
    names = [pod["metadata"]["name"] for pod in release.pods("scheduler")]
    (pod,) = [name for name in names if leader in release.run("logs", name)]
    release.run("delete", "pod", pod, "--force", "--grace-period=0")
    wait_until(lambda: _leader(queue) not in (leader, ""), timeout_seconds=ELECTION_SECONDS, what="another leader")
    release.wait_ready()
    assert len(release.pods("scheduler")) == 2


def _leader(queue: ExecutionQueueService) -> str:
    client: Any = queue.scripts.client
    # "17 0f3c…": its epoch and its id.
    return (client.get(queue.scripts.keys.named("leader")) or b"").decode().partition(" ")[2]


def test_a_worker_that_hangs_is_restarted(release: Release) -> None:
    name = release.pods("worker")[0]["metadata"]["name"]
    stop = "import os, pathlib, signal; p = next(pathlib.Path('/var/lib/bandmaster/pulse').glob('*.pulse'))"
    release.run("exec", name, "--", "python3", "-c", f"{stop}; os.kill(int(p.stem), signal.SIGSTOP)")
    restarted = "jsonpath={.status.containerStatuses[0].restartCount}=1"
    release.run("wait", f"pod/{name}", f"--for={restarted}", "--timeout=240s", seconds=270)
    release.wait_ready()
    (status,) = next(pod for pod in release.pods("worker") if pod["metadata"]["name"] == name)["status"][
        "containerStatuses"
    ]
    assert status["lastState"]["terminated"]["reason"] in ("Error", "Completed")


def test_an_upgrade_keeps_the_servers_password_and_replaces_the_pods(release: Release, image: Image) -> None:
    password = release.password()
    before = {pod["metadata"]["name"] for pod in release.pods("worker")}
    values = values_for(image)
    values["settings"]["logging"] = {"level": "DEBUG"}
    release.upgrade(values)
    assert release.password() == password
    assert not before & {pod["metadata"]["name"] for pod in release.pods("worker")}


def test_an_uninstall_leaves_the_namespace_of_executions(release: Release) -> None:
    release.uninstall()
    kept = release.kubectl.get("namespace", release.namespaces.executions)
    assert kept["status"]["phase"] == "Active"
    assert release.kubectl.items("roles", "-n", release.namespaces.executions) == []

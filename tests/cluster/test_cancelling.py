"""Executions that are cancelled at any moment: the slot is held until the pod is gone, and each ends exactly once."""

import threading

from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from installation import FOREVER, LONG_LEASES, MINUTES, Installation
from observing import Observer
from program_output import wait_until_it_says

from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.model.states import State
from waiting import wait_until

CREATING = r"^POST .*/pods"


def test_a_cancelled_execution_holds_its_slot_until_its_pod_has_ended(
    installation: Installation, pods: Pods, admin: Admin, namespace: str
) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    installation.worker(leases=LONG_LEASES, termination_grace_seconds=20)
    with Observer(admin, namespace) as observer:
        cancelled = installation.submit(
            "trap 'echo asked; sleep 1; exit 1' TERM; echo begun; while :; do sleep 0.1; done"
        )
        name = installation.wait_for_pod(cancelled)
        wait_until_it_says(pods, name, "begun")
        waiting = installation.submit("echo next")
        cancel(installation, cancelled, State.CANCELLING)
        installation.wait_until_all([cancelled, waiting])
    assert (installation.state(cancelled), installation.state(waiting)) == (State.CANCELLED, State.COMPLETED)
    assert installation.result(cancelled)["output_tail"] == "begun\nasked\n"
    assert [moment.alive for moment in observer.moments if moment.name == name][-1:] == [False]
    assert observer.most_alive() == 1


def test_an_execution_may_be_cancelled_while_it_waits_is_created_is_pending_or_runs(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    installation.worker(kubeconfig=str(proxy.kubeconfig))
    unscheduled = installation.submit("true", cpu_request="1000", cpu_limit="1000")
    imageless = installation.submit("true", image="localhost/missing:1")
    running, silent = installation.submit(FOREVER), installation.submit("sleep 1000")
    installation.wait_for_pod(unscheduled, phase="Pending")
    installation.wait_for_pod(running)
    installation.wait_for_pod(silent)
    wait_until(
        lambda: _waits_for_its_image(installation, imageless), timeout_seconds=MINUTES, what="the pull's failure"
    )
    let_go = threading.Event()
    creation = proxy.fail(Fault(CREATING, until=let_go, times=1))
    created = installation.submit(FOREVER)
    wait_until(lambda: creation.hits, what="the creation")
    waiting = installation.submit("true")
    cancel(installation, waiting, State.CANCELLED)
    cancel(installation, created, State.RUNNING)
    for each in (unscheduled, imageless, running, silent):
        cancel(installation, each, State.CANCELLING)
    let_go.set()
    ids = [unscheduled, imageless, running, silent, created, waiting]
    installation.wait_until_all(ids)
    assert {installation.state(each) for each in ids} == {State.CANCELLED}
    assert not [pod for pod in admin.pods(namespace) if pod["status"]["phase"] == "Running"]
    installation.wait_until_settled()


def cancel(installation: Installation, execution_id: str, then: State) -> None:
    """As `bandmaster cancel` does; what has a pod is the watch's to delete."""
    found = installation.queue.transitions.cancel(execution_id, reason="test")
    assert found.state is then


def _waits_for_its_image(installation: Installation, execution_id: str) -> bool:
    statuses = [
        each for pod in installation.pods_of(execution_id) for each in pod["status"].get("containerStatuses", [])
    ]
    return any("ImagePull" in each["state"].get("waiting", {}).get("reason", "") for each in statuses)

"""An API server that answers 500 to every creation, as for a failing admission webhook: slots come back (F35).

No pod can come to be, threads are not kept, cancelling works, and a worker that is told to end does so.
"""

import json
from collections.abc import Iterator

import pytest
from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from installation import LONG_LEASES, MINUTES, Installation
from kubernetes.client.exceptions import ApiException
from making import MakeSpec
from observing import Observer

from bandmaster.k8s.errors import PodsUnavailable
from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.model.states import State
from waiting import wait_until

CREATING = r"^POST .*/pods"
LOOKING = r"^GET .*/pods/[^/?]+$"
THREADS = 3
BROKEN = {"kind": "Status", "code": 500, "reason": "InternalError", "message": "etcdserver: request timed out"}
PROBE = {"metadata": {"name": "probe"}, "spec": {"containers": [{"name": "x", "image": "x"}]}}


@pytest.fixture
def failing_webhook(admin: Admin, namespace: str) -> Iterator[None]:
    """Nobody can create a pod in the namespace."""
    admin.add_failing_webhook(namespace)

    def in_force() -> bool:
        try:
            admin.create(namespace, PROBE)
        except ApiException as error:
            return "failed calling webhook" in str(error)
        admin.delete(namespace, "probe", grace_period_seconds=0)
        return False

    try:
        wait_until(in_force, timeout_seconds=MINUTES, what="the webhook in force")
        yield
    finally:
        admin.remove_webhook(namespace)


@pytest.mark.usefixtures("failing_webhook")
def test_a_webhook_that_fails_lets_the_slot_be_given_back(pods: Pods, spec: MakeSpec) -> None:
    with pytest.raises(PodsUnavailable, match="webhook") as caught:
        pods.create(spec("true"))
    assert not caught.value.pod_may_exist


def test_f35_a_server_that_fails_every_creation_keeps_no_thread_and_no_slot(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    creation = proxy.fail(Fault(CREATING, status=500, body=json.dumps(BROKEN).encode()))
    with Observer(admin, namespace) as observer:
        worker = installation.worker(
            threads=THREADS, leases=LONG_LEASES, kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=2.0
        )
        ids = [installation.submit("true") for _ in range(THREADS + 1)]
        wait_until(lambda: creation.hits > THREADS, timeout_seconds=MINUTES, what="creations by all threads")
        installation.queue.cancel(ids[0])
        wait_until(
            lambda: installation.state(ids[0]) is State.CANCELLED, timeout_seconds=MINUTES, what="the cancellation"
        )
        wait_until(
            lambda: any(installation.state(each) is State.SCHEDULED for each in ids),
            timeout_seconds=MINUTES,
            what="a slot given back",
        )
        assert worker.terminate() == 0, worker.tail()
        assert observer.created == []
        proxy.heal()
        installation.worker(threads=THREADS, leases=LONG_LEASES)
        installation.wait_until_all(ids)
    assert {installation.state(each) for each in ids[1:]} == {State.COMPLETED}
    assert len(observer.created) == THREADS


def test_a_worker_that_ends_while_nobody_knows_of_a_pod_leaves_its_slot_taken(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    # The creation got through, its answer did not, and then the API server is away for longer than the worker lives.
    proxy.fail(Fault(CREATING, lose_reply=True, times=1))
    proxy.fail(Fault(LOOKING, mute=True))
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    with Observer(admin, namespace) as observer:
        worker = installation.worker(leases=LONG_LEASES, kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=1.0)
        first, second = installation.submit("sleep 20; echo $EXECUTION_ATTEMPT"), installation.submit("true")
        wait_until(lambda: observer.created, timeout_seconds=MINUTES, what="the pod")
        proxy.stop()
        worker.wait_until_it_says("pod_doubtful")
        assert worker.terminate() == 0, worker.tail()
        assert installation.state(first) in (State.RUNNING, State.POD)
        assert installation.state(second) is State.PENDING
        installation.worker(leases=LONG_LEASES)
        installation.wait_until_all([first, second])
    assert installation.result(first)["output_tail"] == "1\n", "the pod that nobody knew of was found"
    assert observer.most_alive() == 1
    assert len(observer.created) == 2

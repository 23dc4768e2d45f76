"""Parts of the cluster stop and come back while pods run: nothing is lost, and what is lost is told as such."""

import pytest
from api_proxy import ApiProxy
from cluster_admin import Admin
from components import Components, components_or_skip
from installation import LIMIT, LONG_LEASES, Installation
from making import HELD, Connect, MakeSpec
from program_output import wait_until_it_says
from programs import Programs
from watcher import Watcher

from bandmaster.k8s.pods import Pods, Reason
from bandmaster.scheduler.model.states import State
from waiting import wait_until

ENDED_BECAUSE = "bandmaster.dev/ended-because"
UNTIL_TERM = "trap 'echo first; exit 0' TERM; echo begun; while :; do sleep 0.1; done"

pytestmark = pytest.mark.disturbs


@pytest.fixture
def components(admin: Admin) -> Components:
    return components_or_skip(admin)


def test_executions_end_and_begin_while_the_api_server_restarts(
    components: Components, installation: Installation, admin: Admin, namespace: str
) -> None:
    # However busy the machine is: pods that have ended are counted below.
    installation.worker(leases=LONG_LEASES, pod_ttl_seconds=3_600)
    short, long = installation.submit("sleep 6; echo short"), installation.submit(f"{HELD}; echo long")
    name = installation.wait_for_pod(long)  # and the short one, which came first, runs or has just ended
    meanwhile = [installation.submit(f"echo {number}") for number in range(LIMIT)]
    components.restart("kube-apiserver")
    admin.let_go(namespace, name)
    after = installation.submit("echo after")
    ids = [short, long, *meanwhile, after]
    installation.wait_until_all(ids)
    assert {installation.state(each) for each in ids} == {State.COMPLETED}
    said = [installation.result(each)["output_tail"] for each in ids]
    assert said == ["short\n", "long\n", *(f"{number}\n" for number in range(LIMIT)), "after\n"]
    assert [installation.meta(each)["attempt"] for each in (short, long)] == ["1", "1"]
    # One pod for each attempt that has one.
    names = [pod["metadata"]["name"] for pod in admin.pods(namespace)]
    assert len(names) == len(ids)
    installation.wait_until_settled()


def test_an_execution_that_ends_while_the_kubelet_is_stopped_holds_its_slot_until_that_is_back(
    components: Components, installation: Installation, pods: Pods, proxy: ApiProxy
) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    installation.worker(leases=LONG_LEASES, kubeconfig=str(proxy.kubeconfig))
    first, second = installation.submit(UNTIL_TERM), installation.submit("echo second")
    name = installation.wait_for_pod(first)
    wait_until_it_says(pods, name, "begun")
    with Programs() as programs, components.stopped("kubelet"):
        programs.end(programs.expect(first))
        proxy.wait_for_looks()
        assert [installation.state(each) for each in (first, second)] == [State.POD, State.PENDING]
    installation.wait_until_all([first, second])
    assert [installation.result(each)["output_tail"] for each in (first, second)] == ["begun\nfirst\n", "second\n"]
    assert [installation.meta(each)["attempt"] for each in (first, second)] == ["1", "1"]
    installation.wait_until_settled()


def test_an_execution_whose_node_is_lost_holds_its_slot_until_the_node_is_back_and_runs_again_then(
    components: Components, installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    installation.worker(leases=LONG_LEASES, node_lost_seconds=1, kubeconfig=str(proxy.kubeconfig))
    execution_id = installation.submit("[ $EXECUTION_ATTEMPT = 2 ] && echo again && exit; sleep 1000")
    name = installation.wait_for_pod(execution_id)
    with Programs() as programs:
        programs.expect(execution_id)
        with components.lost(namespace):
            wait_until(
                lambda: (admin.pod(namespace, name) or {})["metadata"].get("annotations", {}).get(ENDED_BECAUSE),
                timeout_seconds=240,
                what="the pod given up",
            )
            proxy.wait_for_looks()
            assert installation.state(execution_id) is State.POD
            assert programs.now(), "for it runs on"
        installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.result(execution_id)["output_tail"] == "again\n"
    assert installation.meta(execution_id)["infrastructure"] == "1"
    installation.wait_until_settled()


def test_the_slot_of_a_pod_whose_node_never_comes_back_is_freed_by_hand(
    components: Components, installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    installation.worker(leases=LONG_LEASES, node_lost_seconds=1, kubeconfig=str(proxy.kubeconfig))
    execution_id = installation.submit("[ $EXECUTION_ATTEMPT = 2 ] || sleep 1000")
    name = installation.wait_for_pod(execution_id)
    with components.stopped("kubelet"):
        admin.delete(namespace, name, grace_period_seconds=0)
        proxy.wait_for_looks()
        assert installation.state(execution_id) is State.POD
        admin.strip(namespace, name)
        wait_until(lambda: installation.meta(execution_id)["attempt"] == "2", timeout_seconds=60, what="a new attempt")
    installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED


@pytest.mark.nightly  # the end that is told later is shown above, with a worker
def test_an_end_while_the_kubelet_is_stopped_is_told_when_it_is_back(
    components: Components, pods: Pods, spec: MakeSpec
) -> None:
    asked = spec(UNTIL_TERM)
    created = pods.create(asked)
    with Watcher(pods) as watcher, Programs() as programs:
        watcher.wait_running(created.name)
        wait_until_it_says(pods, created.name, "begun")
        with components.stopped("kubelet"):
            programs.end(programs.expect(asked.execution_id))
            late = pods.create(spec("echo late"))
            wait_until(lambda: watcher.of(late.name), what="the sight of the other pod")
            assert watcher.ends(created.name) == []
        assert watcher.end(created.name).output_tail == "begun\nfirst\n"
        assert watcher.end(late.name).output_tail == "late\n"


def test_a_pod_whose_node_is_lost_ends_when_that_is_back_and_its_end_is_the_clusters_fault(
    components: Components, connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    pods = connect_with(node_lost_seconds=1)
    created = pods.create(spec("sleep 1000", timeout_seconds=1000))
    with Watcher(pods, settle=True) as watcher:
        watcher.wait_running(created.name)
        with components.stopped("kubelet"):
            # 40 s until the node counts as lost, then its pods are evicted, and nobody confirms that they are gone.
            wait_until(
                lambda: (
                    (admin.pod(namespace, created.name) or {})["metadata"].get("annotations", {}).get(ENDED_BECAUSE)
                ),
                timeout_seconds=240,
                what="the pod given up",
            )
            assert watcher.ends(created.name) == []
        outcome = watcher.end(created.name)
        watcher.wait_gone(created.name)
    assert outcome.reason is Reason.NODE_LOST
    assert outcome.reason.infrastructure

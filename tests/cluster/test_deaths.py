"""F2, F3, F23: workers that are killed around the creation of a pod, its end, and the storing of its result."""

from collections import Counter

from api_proxy import ApiProxy, Fault
from cluster_admin import Admin
from installation import FOREVER, LIMIT, LONG_LEASES, MINUTES, Installation
from making import HELD
from observing import Observer

from bandmaster.scheduler.model.states import State
from waiting import wait_until

CREATING = r"^POST .*/pods"
LOOKING = r"^GET .*/pods/[^/?]+$"
PATCHING = r"^PATCH .*/pods"


def test_workers_that_die_lose_nothing_and_double_nothing(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    with Observer(admin, namespace) as observer:
        first, second = installation.worker(), installation.worker()
        ids = [installation.submit("sleep 1; echo done") for _ in range(12)]
        wait_until(lambda: len(observer.created) >= 3, timeout_seconds=MINUTES, what="the first pods")
        first.kill()
        wait_until(lambda: len(observer.created) >= 7, timeout_seconds=MINUTES, what="more pods")
        second.kill()
        installation.worker()
        installation.wait_until_all(ids)
    assert {installation.state(each) for each in ids} == {State.COMPLETED}
    assert observer.most_alive() <= LIMIT
    # One pod for each attempt, and attempts that began no pod are allowed to have none.
    assert Counter(moment.name for moment in observer.created).most_common(1)[0][1] == 1


def test_f2_a_worker_killed_before_the_creation_leaves_no_pod(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    creation = proxy.fail(Fault(CREATING, mute=True))
    with Observer(admin, namespace) as observer:
        worker = installation.worker(kubeconfig=str(proxy.kubeconfig))
        execution_id = installation.submit("echo $EXECUTION_ATTEMPT")
        wait_until(lambda: creation.hits, what="the creation")
        worker.kill()
        assert observer.created == []
        installation.worker()
        installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.result(execution_id)["output_tail"] == "2\n"
    assert len(observer.created) == 1


def test_f2_a_pod_whose_creator_was_killed_is_found_and_its_attempt_goes_on(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    creation = proxy.fail(Fault(CREATING, keep_reply=True))
    with Observer(admin, namespace) as observer:
        worker = installation.worker(kubeconfig=str(proxy.kubeconfig), leases=LONG_LEASES)
        execution_id = installation.submit(f"{HELD}; echo $EXECUTION_ATTEMPT")
        wait_until(creation.done.is_set, what="the creation")
        worker.kill()
        assert installation.state(execution_id) is State.RUNNING
        installation.worker(leases=LONG_LEASES)
        (pod,) = installation.pods_of(execution_id)
        admin.wait_running(namespace, pod["metadata"]["name"])
        admin.let_go(namespace, pod["metadata"]["name"])
        # The dead one's watch may still have its lock until the pod has ended: found alive or ended, it is the same.
        installation.wait_until_all([execution_id])
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.result(execution_id)["output_tail"] == "1\n"
    assert len(observer.created) == 1


def test_f3_a_worker_killed_between_result_and_acknowledgement_changes_nothing(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    acknowledgement = proxy.fail(Fault(PATCHING, mute=True))
    with Observer(admin, namespace) as observer:
        worker = installation.worker(kubeconfig=str(proxy.kubeconfig))
        execution_id = installation.submit("echo once; exit 3")
        wait_until(lambda: acknowledgement.hits, timeout_seconds=MINUTES, what="the acknowledgement")
        worker.kill()
        assert installation.state(execution_id) is State.FAILED
        result, meta = installation.result(execution_id), installation.meta(execution_id)
        assert installation.pods_of(execution_id)[0]["metadata"]["finalizers"], "its end is kept"
        # Somebody clears up meanwhile: not even that loses it.
        admin.delete(namespace, meta["pod"], grace_period_seconds=0)
        assert installation.pods_of(execution_id)
        installation.worker()
        installation.wait_until_settled()
        installation.wait_until_all([execution_id])
    assert (installation.result(execution_id), installation.meta(execution_id)) == (result, meta)
    assert result["exit_code"] == 3
    assert len(observer.created) == 1


def test_pods_that_end_or_are_deleted_while_nobody_watches_are_found_by_the_next_watch(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    worker = installation.worker()
    deleted, ending = (
        installation.submit(FOREVER),
        installation.submit(f"{HELD}; echo alone; exit 4"),
    )
    ended_name = installation.wait_for_pod(ending)
    name = installation.wait_for_pod(deleted)
    worker.kill()
    admin.let_go(namespace, ended_name)
    admin.delete(namespace, name)

    def phases() -> set[str]:
        pods = [admin.pod(namespace, each) for each in (name, ended_name)]
        return {pod["status"]["phase"] for pod in pods if pod is not None}

    wait_until(lambda: phases() == {"Failed"}, timeout_seconds=2 * MINUTES, what="the ends")
    assert {installation.state(each) for each in (ending, deleted)} == {State.POD}
    installation.worker()
    installation.wait_until_all([ending, deleted])
    assert (installation.state(ending), installation.result(ending)["exit_code"]) == (State.FAILED, 4)
    assert installation.result(ending)["output_tail"] == "alone\n"
    assert (installation.state(deleted), installation.result(deleted)["reason"]) == (State.FAILED, "Deleted")


def test_a_slot_is_held_as_long_as_a_pod_may_exist(
    installation: Installation, proxy: ApiProxy, admin: Admin, namespace: str
) -> None:
    # The creation got through, its answer did not, and then the API server is away for longer than anybody repeats.
    proxy.fail(Fault(CREATING, lose_reply=True, times=1))
    proxy.fail(Fault(LOOKING, mute=True))
    installation.queue.controls.change_setting("max_concurrent_executions", 1)
    with Observer(admin, namespace) as observer:
        worker = installation.worker(kubeconfig=str(proxy.kubeconfig), request_timeout_seconds=1.0)
        first = installation.submit("sleep 5")
        second = installation.submit("true")
        wait_until(lambda: observer.created, what="the pod")
        proxy.stop()
        worker.wait_until_it_says("pod_doubtful")
        wait_until(lambda: worker.log.read_text().count("pod_doubtful") >= 2, timeout_seconds=MINUTES, what="doubt")
        # If the watch saw the pod before the API server went away, it is the watch's by now: its slot is held anyway.
        assert installation.state(first) in (State.RUNNING, State.POD)
        assert installation.state(second) is State.PENDING
        proxy.heal()
        proxy.start()
        installation.wait_until_all([first, second])
    assert [installation.meta(each)["attempt"] for each in (first, second)] == ["1", "1"]
    assert observer.most_alive() == 1
    assert len(observer.created) == 2

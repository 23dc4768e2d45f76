"""Executions as pods: real workers, a real server, a real cluster."""

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import redis
from admin import Admin
from faults_process.members import Member, Members
from history import History
from making import BUSYBOX
from observing import Observer

from bandmaster.configs.areas import KubernetesSettings
from bandmaster.scheduler.events import ExecutionCancelledEvent, ExecutionRequestedEvent
from bandmaster.scheduler.queue import ExecutionQueueService
from bandmaster.scheduler.states import TERMINAL, State
from waiting import wait_until

LIMIT = 5
MINUTES = 60.0
Start = Callable[[], Member]


class Installation:
    """A queue and its workers, which run executions as pods in one namespace."""

    def __init__(self, client: redis.Redis, members: Members, settings: KubernetesSettings) -> None:
        self.queue = ExecutionQueueService(client)
        self.queue.controls.change_setting("max_concurrent_executions", LIMIT)
        self._members = members
        self._settings = settings

    def worker(self) -> Member:
        """Start one more worker."""
        own = {
            ("k8s", name): str(getattr(self._settings, name))
            for name in (
                *("backend", "namespace", "kubeconfig", "cpu_request", "cpu_limit", "memory_request", "memory_limit"),
                "termination_grace_seconds",
            )
        }
        own |= {("k8s", "default_image"): BUSYBOX, ("limits", "max_concurrent_executions"): str(LIMIT)}
        return self._members.worker(threads=8, settings=own)

    def submit(self, line: str, *, timeout_seconds: int = 600) -> str:
        """A shell line to be run in a pod."""
        event = ExecutionRequestedEvent(command=("sh", "-c", line), timeout_seconds=timeout_seconds)
        self.queue.enqueue(event)
        return event.execution_id

    def meta(self, execution_id: str) -> dict[str, str]:
        """An execution's record."""
        return self.queue.views.meta(execution_id)

    def state(self, execution_id: str) -> State:
        """Where an execution stands."""
        return State(self.meta(execution_id)["state"])

    def result(self, execution_id: str) -> dict[str, object]:
        """How it ended."""
        return json.loads(self.queue.views.result(execution_id) or b"{}")

    def wait_until_all(self, ids: list[str], timeout_seconds: float) -> None:
        """Wait for the end of all; then the journal has to tell of nothing that is not allowed."""
        wait_until(
            lambda: all(meta["state"] in TERMINAL for meta in self.queue.views.metas(ids)),
            timeout_seconds=timeout_seconds,
            what="the end of all executions",
        )
        history = History(LIMIT, self.queue.controls.limits()).read(self.queue.views.journal())
        assert history.executions.keys() == set(ids)
        assert not history.living()


@pytest.fixture
def installation(
    redis_client: redis.Redis, redis_url: str, tmp_path: Path, cluster_settings: KubernetesSettings
) -> Iterator[Installation]:
    members = Members(redis_url, tmp_path)
    yield Installation(redis_client, members, cluster_settings)
    print(members.end_all())


def wait_for_pod(installation: Installation, admin: Admin, namespace: str, execution_id: str) -> str:
    """Wait until an execution's pod runs; returns its name."""

    def running() -> str | None:
        name = installation.meta(execution_id).get("pod")
        pod = admin.pod(namespace, name) if name else None
        return name if pod is not None and pod["status"]["phase"] == "Running" else None

    return wait_until(running, timeout_seconds=2 * MINUTES, what="the start of the pod") or ""


def test_forty_executions_run_as_forty_pods_and_never_more_than_the_limit_at_once(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    with Observer(admin, namespace) as observer:
        installation.worker()
        installation.worker()
        ids = [installation.submit(f"echo {number}") for number in range(40)]
        installation.wait_until_all(ids, timeout_seconds=5 * MINUTES)
    assert {installation.state(each) for each in ids} == {State.COMPLETED}
    assert [installation.result(each)["output_tail"] for each in ids] == [f"{number}\n" for number in range(40)]
    assert observer.most_alive() == LIMIT
    assert Counter(moment.name for moment in observer.created).most_common(1)[0][1] == 1
    assert len(observer.created) == 40
    wait_until(lambda: not any(pod["metadata"].get("finalizers") for pod in admin.pods(namespace)), what="settling")
    delays = observer.from_end_to_creation_ms(LIMIT)
    print(f"from a pod's end to the next one's creation: p50 {statistics.median(delays):.0f} ms, {len(delays)} times")


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
        installation.wait_until_all(ids, timeout_seconds=5 * MINUTES)
    assert {installation.state(each) for each in ids} == {State.COMPLETED}
    assert observer.most_alive() <= LIMIT
    # One pod for each attempt, and attempts that began no pod are allowed to have none.
    assert Counter(moment.name for moment in observer.created).most_common(1)[0][1] == 1


def test_a_pod_deleted_while_nobody_watches_ends_its_execution(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    worker = installation.worker()
    execution_id = installation.submit("trap 'exit 1' TERM; while :; do sleep 0.1; done")
    name = wait_for_pod(installation, admin, namespace, execution_id)
    worker.kill()
    admin.delete(namespace, name)
    installation.worker()
    installation.wait_until_all([execution_id], timeout_seconds=2 * MINUTES)
    assert installation.state(execution_id) is State.FAILED
    assert installation.result(execution_id)["reason"] == "Deleted"
    assert installation.queue.views.status().active_count == 0


def test_a_cancelled_execution_holds_its_slot_until_its_pod_has_ended(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    installation.worker()
    execution_id = installation.submit("trap 'echo asked; sleep 1; exit 1' TERM; while :; do sleep 0.1; done")
    name = wait_for_pod(installation, admin, namespace, execution_id)
    with Observer(admin, namespace) as observer:
        cancel(installation, execution_id)
        wait_until(lambda: installation.state(execution_id) is State.CANCELLING, what="the cancellation")
        installation.wait_until_all([execution_id], timeout_seconds=2 * MINUTES)
        assert [moment.alive for moment in observer.moments if moment.name == name][-1:] == [False]
    assert installation.state(execution_id) is State.CANCELLED
    assert installation.result(execution_id)["output_tail"] == "asked\n"


def test_an_execution_that_runs_too_long_ends_as_a_timeout(installation: Installation) -> None:
    installation.worker()
    execution_id = installation.submit("echo begun; sleep 100", timeout_seconds=2)
    installation.wait_until_all([execution_id], timeout_seconds=2 * MINUTES)
    assert installation.state(execution_id) is State.TIMEOUT
    assert installation.result(execution_id)["output_tail"] == "begun\n"


def test_a_preempted_pod_is_tried_again_under_a_new_attempt(
    installation: Installation, admin: Admin, namespace: str
) -> None:
    installation.worker()
    execution_id = installation.submit("[ $EXECUTION_ATTEMPT = 2 ] && exit; trap 'exit 1' TERM; sleep 100 & wait")
    name = wait_for_pod(installation, admin, namespace, execution_id)
    # What the scheduler of later releases does.
    condition = {"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler"}
    admin.patch_status(namespace, name, {"conditions": [condition]})
    admin.delete(namespace, name)
    installation.wait_until_all([execution_id], timeout_seconds=3 * MINUTES)
    assert installation.state(execution_id) is State.COMPLETED
    assert installation.meta(execution_id)["attempt"] == "2"


def cancel(installation: Installation, execution_id: str) -> None:
    """As `bandmaster cancel` does."""
    from_outside = ExecutionCancelledEvent(execution_id=execution_id, reason="test")
    found = installation.queue.transitions.cancel(from_outside.execution_id, reason="test")
    assert found.state in (State.CANCELLING, State.CANCELLED)

"""F14: a server that came back with older data gives an attempt again whose first pod is just being deleted."""

import pytest
import redis
from cluster_admin import Admin
from making import HELD, Connect, MakeSpec
from program_output import wait_until_it_says

from bandmaster.actors.reconcile import Watch
from bandmaster.k8s.pods import Pods
from bandmaster.scheduler.events import ExecutionEndedEvent, ExecutionRequestedEvent
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService

NAME = "granted-again"


@pytest.fixture
def queue(redis_client: redis.Redis) -> ExecutionQueueService:
    """One attempt was given."""
    queue = ExecutionQueueService(redis_client)
    queue.enqueue(ExecutionRequestedEvent(execution_id=NAME, command=("true",)))
    assert queue.try_schedule() is not None
    return queue


def test_f14_a_pod_that_was_deleted_as_nobodys_does_not_end_the_grant_that_has_its_attempt_now(
    queue: ExecutionQueueService, connect_with: Connect, spec: MakeSpec, admin: Admin, namespace: str
) -> None:
    told: list[ExecutionEndedEvent] = []
    pods = connect_with(termination_grace_seconds=120)
    pod = pods.create(spec(f"trap '' TERM; echo deaf; {HELD}", execution_id=NAME))
    admin.wait_running(namespace, pod.name)
    wait_until_it_says(pods, pod.name, "deaf")
    pods.delete(pod.name, uid=pod.uid)  # as its creator does, whose grant the server has forgotten
    watch = Watch(queue, pods, told.append, tend_seconds=0.2, again_seconds=60)
    now = pods.get(pod.name)
    assert now is not None
    assert now.deleting
    assert now.outcome is None
    watch.run(1)
    assert queue.views.meta(NAME)["state"] == State.RUNNING, "it waits for a pod of its own"
    admin.let_go(namespace, pod.name)
    while pods.get(pod.name) is not None:
        watch.run(1)
        assert queue.views.meta(NAME)["state"] == State.RUNNING, "it waits for a pod of its own"
    assert told == []


def test_a_pod_that_is_deleted_after_its_grant_was_handed_over_ends_it(
    queue: ExecutionQueueService, pods: Pods, spec: MakeSpec
) -> None:
    told: list[ExecutionEndedEvent] = []
    pod = pods.create(spec("sleep 1000", execution_id=NAME))
    queue.transitions.hand_over(NAME, 1, pod.name, pod.uid)
    pods.delete(pod.name, uid=pod.uid)
    watch = Watch(queue, pods, told.append, tend_seconds=0.2, again_seconds=60)
    while not told:
        watch.run(1)
    assert [event.pod_uid for event in told] == [pod.uid]

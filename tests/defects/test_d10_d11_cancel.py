"""D10, D11: a cancelled or timed-out execution holds its slot until what runs of it is gone."""

from typing import Any

from bandmaster.actors.program_items import ProgramItems
from bandmaster.actors.saga import Saga
from bandmaster.configs.areas import KubernetesSettings
from bandmaster.k8s.local.pods import LocalPods
from bandmaster.scheduler.engine.grants import Code
from bandmaster.scheduler.model.states import State
from bandmaster.scheduler.queue import ExecutionQueueService
from defects.contrast import contrast, event
from defects.simple_queue import SimpleQueue
from waiting import wait_until


def in_a_pod(queue: ExecutionQueueService, execution_id: str) -> None:
    """Granted, and handed over to a pod that is taken to run."""
    queue.enqueue(event(execution_id))
    queue.try_schedule()
    assert queue.transitions.hand_over(execution_id, 1, "a-pod", "uid").code is Code.OK


def test_d10_a_cancelled_execution_keeps_its_slot_until_its_pod_is_gone(
    simple: SimpleQueue, ours: ExecutionQueueService
) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            in_a_pod(ours, "x")
            ours.cancel("x")
        else:
            queue.enqueue(event("x"))
            queue.try_schedule()
            queue.remove("x")  # what the simple queue does on a cancellation; its pod runs on
        queue.enqueue(event("y"))
        return queue.try_schedule(1) is None

    contrast(holds, simple=simple, ours=ours)
    assert ours.views.meta("x")["state"] == State.CANCELLING
    # The pod is seen gone: only now does the slot come back, and the end is the one that was asked for.
    assert ours.release("x", 1, State.FAILED) is Code.OK
    assert ours.views.meta("x")["state"] == State.CANCELLED
    started = ours.try_schedule(1)
    assert started is not None
    assert started[0] == "y"


def test_d10_a_cancel_that_overtakes_the_creation_leaves_no_pod(
    ours: ExecutionQueueService, local_pods: LocalPods
) -> None:
    request = event("x", command=["sleep", "60"])
    saga = Saga(ours.transitions, local_pods, KubernetesSettings(), ProgramItems(lambda: (), lambda: None))
    ours.enqueue(request)
    ours.try_schedule()
    ours.cancel("x")
    assert ours.views.meta("x")["state"] == State.RUNNING, "it is told at its next renewal, or by its hand-over"
    assert saga.run(request, 1) is None
    assert ours.views.meta("x")["state"] == State.CANCELLING
    wait_until(lambda: not local_pods.list(), what="the pod's end")


def test_d10_a_simple_cancel_that_overtakes_the_creation_leaves_an_orphan(simple: SimpleQueue) -> None:
    pods: list[str] = []
    simple.enqueue(event("x"))
    started = simple.try_schedule()
    simple.remove("x")
    if started is not None:
        pods.append(started[0])  # the saga's step, which looks at nothing
    assert simple.get_queue_status() == {"queue_depth": 0, "active_count": 0}
    assert pods == ["x"], "the simple way does not show the defect"


def test_d11_a_timeout_keeps_the_slot_until_its_pod_is_dead(simple: SimpleQueue, ours: ExecutionQueueService) -> None:
    def holds(queue: Any) -> bool:
        if queue is ours:
            in_a_pod(ours, "x")
            assert ours.transitions.cancel("x", outcome=State.TIMEOUT, attempt=1).state is State.CANCELLING
        else:
            queue.enqueue(event("x"))
            queue.try_schedule()
            queue.release("x")  # what the simple queue does on a timeout; its pod may take its time to die
        return queue.get_queue_status()["active_count"] == 1

    contrast(holds, simple=simple, ours=ours)
    assert ours.release("x", 1) is Code.OK
    assert ours.views.meta("x")["state"] == State.TIMEOUT


def test_d11_a_timeout_of_an_earlier_attempt_leaves_the_current_one_alone(ours: ExecutionQueueService) -> None:
    in_a_pod(ours, "x")
    ours.retry("x", 1, kind="infrastructure")
    assert ours.transitions.cancel("x", outcome=State.TIMEOUT, attempt=1).code is Code.STALE
    ours.try_schedule()
    assert ours.transitions.cancel("x", outcome=State.TIMEOUT, attempt=1).code is Code.STALE
    assert ours.release("x", 2) is Code.OK
    assert ours.views.meta("x")["state"] == State.COMPLETED

"""Cancels an execution and, if it runs in a pod, has the pod deleted at once.

In the flow: the transition is made in Redis, so a waiting execution ends even if no worker runs. An execution that runs
in a pod becomes CANCELLING and keeps its slot until the pod is gone; a worker gets a message to delete the pod. If that
message is lost, or this process dies in between, the next round of `watch_completions` deletes the pod.
"""

from typing import Final

import dramatiq
from dramatiq.brokers.redis import RedisBroker

from ...scheduler.engine.grants import Cancellation
from ...scheduler.model.states import State
from ...scheduler.queue import ExecutionQueueService

# The message is sent by name, as the scheduler process sends `try_schedule`: an import of the actors' package would
# connect and log as a worker does.
DELETE_POD: Final = "delete_pod"
LIFECYCLE_QUEUE: Final = "lifecycle"


def cancel(
    queue: ExecutionQueueService,
    broker: RedisBroker,
    execution_id: str,
    *,
    reason: str,
    among: frozenset[State] | None = None,
    by: str | None = None,
) -> Cancellation:
    """End an execution that waits; ask one that runs to end.

    Args:
        queue: The queue that holds the execution.
        broker: The broker of the workers that run the lifecycle actors.
        execution_id: The execution.
        reason: Why it is cancelled; kept in its record.
        among: Cancel it only in one of these states; None: in any.
        by: Who cancels, for the journal; None: as the queue says.

    Raises:
        QueueUnavailable: If Redis did not answer.
    """
    cancelled = queue.transitions.cancel(execution_id, reason=reason, among=among, by=by)
    if cancelled.state is State.CANCELLING and cancelled.pod is not None:
        broker.enqueue(
            dramatiq.Message[None](
                queue_name=LIFECYCLE_QUEUE,
                actor_name=DELETE_POD,
                args=(cancelled.pod, cancelled.pod_uid),
                kwargs={},
                options={},
            )
        )
    return cancelled
